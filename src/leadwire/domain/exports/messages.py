"""The messages of an export: those of one conversation after the other, some hundreds at a time."""

from collections.abc import AsyncIterator
from typing import Any, Final

from leadwire.domain.conversations import reads as conversations
from leadwire.domain.conversations.reads import ConversationQuery
from leadwire.domain.exports.schema import ExportedMessage
from leadwire.domain.listing.keyset import Keyset
from leadwire.infrastructure import clock
from leadwire.infrastructure.db.statements import sql

_AT_ONCE: Final = 500  # messages in memory at a time
_KEY: Final = {"conversation_created_at": "timestamptz", "conversation_id": "text", "seq": "smallint"}
_ORDER: Final = Keyset[Any](make=lambda row: row, table="message", columns="", filters={}, key=_KEY)

_FIRST: Final[dict[str, Any]] = {
    "after_conversation_created_at": clock.parse("1970-01-01"), "after_conversation_id": "", "after_seq": 0,
}  # fmt: skip
# Some messages after a place, by the index of the conversations' creation; those of a conversation are looked up.
_PAGE: Final = f"""
SELECT m.id, c.id, c.bot_id, m.role, m.content, m.created_at, m.seq, c.created_at
FROM (SELECT id, bot_id, created_at {{source}}
    AND (created_at, id) >= (:after_conversation_created_at::timestamptz, :after_conversation_id::text)) c
CROSS JOIN LATERAL (SELECT * FROM message WHERE message.conversation_id = c.id
    AND (c.id <> :after_conversation_id OR seq > :after_seq::int)) m
ORDER BY c.created_at, c.id, m.seq LIMIT {_AT_ONCE}"""


async def walk(workspace: str, query: ConversationQuery, after: str) -> AsyncIterator[list[ExportedMessage]]:
    """Yield the messages behind `after` of the conversations that match. Raise InvalidParameter."""
    cursor = _ORDER.values(_ORDER.place_of(after)) if after else _FIRST
    used = conversations.filters(query)
    statement = sql(_PAGE.format(source=conversations.source(used)))
    while True:
        messages = [
            ExportedMessage(*clock.texts(row)) for row in await statement.rows(workspace=workspace, **used, **cursor)
        ]
        if messages:
            yield messages
        if len(messages) < _AT_ONCE:
            return
        last = messages[-1]
        cursor = {
            "after_conversation_created_at": clock.parse(last.conversation_created_at),
            "after_conversation_id": last.conversation_id,
            "after_seq": last.seq,
        }
