"""How far both sides have read a conversation. The one who wrote is told at once; nothing of it is an event."""

from typing import Any, Final

from piccolo.columns import Column

from leadwire.domain.conversations import pubsub
from leadwire.domain.conversations.table import Conversation
from leadwire.infrastructure import db
from leadwire.infrastructure.db.statements import Statement, param, sql, statement


def _further(column: Column) -> Statement:
    """Note a place, unless it is behind the one that is known or behind the last message."""
    return statement(
        Conversation.update({column: param("seq")})
        .where(
            Conversation.workspace_id == param("workspace"),
            Conversation.id == param("id"),
            column < param("seq"),
            Conversation.messages_count >= param("seq"),
        )
        .returning(column)
    )


_BY_VISITOR: Final = _further(Conversation.seen_by_visitor_seq)
_BY_AGENT: Final = _further(Conversation.seen_by_agent_seq)
# Who reads a conversation has seen where they were mentioned in it. The conversation is locked first, as by whoever
# writes in it: the other way round the two could deadlock.
_READ: Final = sql("""
INSERT INTO conversation_read AS r (user_id, conversation_id, workspace_id, seq)
SELECT :user_id, id, workspace_id, least(:seq::int, messages_count) FROM conversation
WHERE workspace_id = :workspace AND id = :id FOR NO KEY UPDATE
ON CONFLICT (user_id, conversation_id) DO UPDATE SET seq = greatest(r.seq, EXCLUDED.seq), mentioned_at = NULL
WHERE r.seq < EXCLUDED.seq OR r.mentioned_at IS NOT NULL RETURNING 1""")


async def by_visitor(workspace: str, conversation_id: str, seq: int) -> None:
    """Note that the visitor has seen all messages up to the place `seq`."""
    await _note(_BY_VISITOR, workspace=workspace, id=conversation_id, seq=seq)


async def by_agent(workspace: str, conversation_id: str, user_id: str, seq: int) -> None:
    """Note that an operator has seen all messages up to the place `seq`, and the notes."""
    async with db.transaction():
        if await _READ.rows(workspace=workspace, id=conversation_id, user_id=user_id, seq=seq):
            pubsub.publish(workspace, conversation_id)  # for their other pages
        await _note(_BY_AGENT, workspace=workspace, id=conversation_id, seq=seq)


async def _note(further: Statement, **values: Any) -> None:
    if await further.rows(**values):
        pubsub.publish(values["workspace"], values["id"])
