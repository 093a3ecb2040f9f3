"""Every change of a visitor's session but its turns: its token, its blocking."""

from typing import Final

from leadwire.domain.accounts import keys
from leadwire.domain.bots.table import BlockedVisitor
from leadwire.domain.conversations import changes as conversations
from leadwire.infrastructure import clock, db
from leadwire.infrastructure.db.statements import named, param, statement
from leadwire.infrastructure.errors import NotFound

_RETRIED_START: Final = 600  # seconds in which a start can be repeated

_RENEW_TOKEN, _RECORD_NUDGE, _BLOCK = named(__file__, "renew_token record_nudge block")
_BLOCKED_FOR: Final = (
    BlockedVisitor.workspace_id == param("workspace"),
    BlockedVisitor.conversation_id == param("conversation_id"),
)
_UNBLOCK: Final = statement(BlockedVisitor.delete().where(*_BLOCKED_FOR).returning(BlockedVisitor.conversation_id))


async def renew_token(conversation_id: str, token: str) -> bool:
    """Replace the token of a session that has just begun. Return False when it is too late for that."""
    since = clock.ago(seconds=_RETRIED_START)
    return bool(await _RENEW_TOKEN.rows(conversation=conversation_id, token_hash=keys.digest(token), since=since))


async def record_nudge(conversation_id: str) -> None:
    """Record that the visitor was nudged."""
    await _RECORD_NUDGE.rows(conversation=conversation_id)


async def block(workspace: str, conversation_id: str, user_id: str) -> None:
    """Block the visitor's network and end the conversation. Raise NotFound."""
    async with db.transaction():
        await conversations.end(workspace, conversation_id, "agent", "blocked")
        await _BLOCK.rows(workspace=workspace, conversation_id=conversation_id, user_id=user_id, now=clock.now())


async def unblock(workspace: str, conversation_id: str) -> None:
    """Undo what `block` did for this conversation's visitor. Raise NotFound when nobody is blocked."""
    missing = NotFound("Nobody is blocked because of this conversation.")
    await _UNBLOCK.one(missing, workspace=workspace, conversation_id=conversation_id)
