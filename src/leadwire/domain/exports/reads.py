"""Exports, and their rows, read some hundreds at a time from where a download is to begin."""

from collections.abc import AsyncIterator, Sequence
from datetime import datetime
from typing import Any, Final

from msgspec import Struct, structs

from leadwire.domain.conversations import reads as conversations
from leadwire.domain.conversations.reads import ConversationQuery
from leadwire.domain.exports.schema import Export, ExportCanceled, ExportedMessage, ExportExpired, Kind
from leadwire.domain.feed import reads as feed
from leadwire.domain.leads import reads as leads
from leadwire.domain.listing import cursors
from leadwire.domain.listing.keyset import UPDATED, Keyset
from leadwire.infrastructure import clock
from leadwire.infrastructure.db.statements import named, sql
from leadwire.infrastructure.errors import NotFound
from leadwire.infrastructure.ids import is_id

(_STORED,) = named(__file__, "stored")

_AT_ONCE: Final = 500  # messages in memory at a time
_KEY: Final = {"conversation_created_at": "timestamptz", "conversation_id": "text", "seq": "smallint"}
_ORDER: Final = Keyset[Any](make=lambda row: row, table="message", columns="", filters={}, key=_KEY)

_FIRST: Final[dict[str, Any]] = {
    "after_conversation_created_at": clock.parse("1970-01-01"), "after_conversation_id": "", "after_seq": 0,
}  # fmt: skip
# Some messages after a place, by the index of the conversations' creation; those of a conversation are looked up.
_PAGE: Final = f"""
SELECT m.id, c.id AS conversation_id, c.bot_id, m.role, m.content, m.created_at, m.seq,
    c.created_at AS conversation_created_at
FROM (SELECT id, bot_id, created_at {{source}}
    AND (created_at, id) >= (:after_conversation_created_at::timestamptz, :after_conversation_id::text)) c
CROSS JOIN LATERAL (SELECT * FROM message WHERE message.conversation_id = c.id
    AND message.created_at < :exported_at AND (c.id <> :after_conversation_id OR seq > :after_seq::int)) m
ORDER BY c.created_at, c.id, m.seq LIMIT {_AT_ONCE}"""


class EventsQuery(Struct, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """The filters of an export of events."""

    types: str | None = None
    since: str | None = None

    def check(self) -> None:
        """Raise InvalidParameter."""
        feed.check(self.types.split(",") if self.types is not None else ())
        try:
            clock.parse("1970-01-01" if self.since is None else self.since)
        except ValueError as error:
            raise cursors.refused("since", "invalid_parameter", str(error)) from error


class StoredExport(Struct, frozen=True):
    """An export with its filters, as the query of a list."""

    export: Export
    query: str
    created_at: datetime

    def check(self) -> None:
        """Raise ExportCanceled, ExportExpired."""
        if self.export.state == "canceled":
            raise ExportCanceled
        if self.export.state == "expired":
            raise ExportExpired


async def stored(workspace: str, export_id: str) -> StoredExport:
    """Return an export. Raise NotFound."""
    missing = NotFound("There is no such export.")
    if not is_id("exp", export_id):
        raise missing
    row = await _STORED.one(missing, workspace=workspace, id=export_id)
    id_, kind, form, sent, created_at, expires_at, query, completed_at, canceled_at = row
    ended = "completed" if completed_at else "ready"
    state: Any = "canceled" if canceled_at else "expired" if expires_at <= clock.now() else ended
    by = _key(kind, query)
    return StoredExport(
        Export(id_, kind, form, state, sent, by, clock.iso(created_at), clock.iso(expires_at)), query, created_at
    )


def _key(kind: Kind, query: str) -> list[str]:
    """The members of a row that say where it is."""
    if kind == "messages":
        return list(_KEY)
    if kind == "events":
        return ["id"]
    return ["updated_at" if any(f"{name}=" in query for name in UPDATED) else "created_at", "id"]


def rows(workspace: str, job: StoredExport, query: Any, after: str) -> AsyncIterator[Sequence[Struct]]:
    """Yield the rows behind `after`, all when it is empty. Raise InvalidParameter, before the first."""
    if isinstance(query, EventsQuery):
        kinds = tuple(query.types.split(",")) if query.types else ()
        # The feed refuses a time that is still to come; the other lists have nothing after it.
        since = clock.iso(min(clock.parse(query.since), job.created_at)) if query.since else cursors.FIRST
        return feed.walk(workspace, after or since, kinds, job.created_at)
    query = structs.replace(query, until=min(query.until or job.created_at, job.created_at))
    if job.export.type == "messages":
        return _messages(workspace, query, after, job.created_at)
    walk = leads.export if job.export.type == "leads" else conversations.export
    return walk(workspace, query, after)


async def _messages(
    workspace: str, query: ConversationQuery, after: str, exported_at: datetime
) -> AsyncIterator[list[ExportedMessage]]:
    """Yield the messages behind `after` of the conversations that match, without what is said later. Raise
    InvalidParameter.
    """
    cursor = _ORDER.values(_ORDER.place_of(after)) if after else _FIRST
    used = conversations.filters(query)
    statement = sql(_PAGE.format(source=conversations.source(used)))
    values = {"workspace": workspace, "exported_at": exported_at, **used}
    while True:
        page = await statement.rows(**values, **cursor)
        if page:
            yield [ExportedMessage(*clock.texts(row)) for row in page]
        if len(page) < _AT_ONCE:
            return
        cursor = {f"after_{name}": page[-1][name] for name in _KEY}
