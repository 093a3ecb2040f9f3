"""Every change of a visitor's session: its token, where it is in the flow, its points, its blocking and erasure."""

from collections.abc import Sequence
from typing import Final

import msgspec

from leadwire.domain.accounts import keys
from leadwire.domain.bots.engine import Scored, State
from leadwire.domain.bots.schema import LiveBot, VisitorSession
from leadwire.domain.bots.table import BlockedVisitor, Visit
from leadwire.domain.conversations import changes as conversations
from leadwire.infrastructure import clock, db
from leadwire.infrastructure.db.statements import insert, named, param, statement
from leadwire.infrastructure.errors import NotFound

_RETRIED_START: Final = 600  # seconds in which a start can be repeated

_ADD: Final = insert(*Visit._meta.columns, nudged_at=None)
_SAVE_STATE: Final = statement(Visit.update(state=param("state")).where(Visit.conversation_id == param("conversation")))
_RENEW_TOKEN, _RECORD_NUDGE, _ADD_SCORES, _BLOCK, _ERASE = named(
    __file__, "renew_token record_nudge add_scores block erase"
)

_BLOCKED_FOR: Final = (
    BlockedVisitor.workspace_id == param("workspace"),
    BlockedVisitor.conversation_id == param("conversation_id"),
)
_UNBLOCK: Final = statement(BlockedVisitor.delete().where(*_BLOCKED_FOR).returning(BlockedVisitor.conversation_id))


async def start(
    bot: LiveBot, state: State, conversation_id: str, token: str, key: bytes, address: bytes | None
) -> VisitorSession:
    """Add the session of a new conversation. `key` finds it when the same start is sent again."""
    await _ADD.rows(
        conversation_id=conversation_id, workspace_id=bot.workspace, bot_id=bot.id, token_hash=keys.digest(token),
        start_key=key, address=address, state=_encoded(state), started_at=clock.now(),
        nudge_minutes=bot.flow.nudge_minutes if bot.flow.nudge_text else None,
        inactivity_minutes=bot.flow.inactivity_minutes,
    )  # fmt: skip
    return VisitorSession(bot.workspace, conversation_id, bot.id, bot.flow, "active", state, None)


async def save_state(conversation_id: str, state: State) -> None:
    """Record where the visitor is in the flow."""
    await _SAVE_STATE.rows(conversation=conversation_id, state=_encoded(state))


async def renew_token(conversation_id: str, token: str) -> bool:
    """Replace the token of a session that has just begun. Return False when it is too late for that."""
    since = clock.ago(seconds=_RETRIED_START)
    return bool(await _RENEW_TOKEN.rows(conversation=conversation_id, token_hash=keys.digest(token), since=since))


async def record_nudge(conversation_id: str) -> None:
    """Record that the visitor was nudged."""
    await _RECORD_NUDGE.rows(conversation=conversation_id)


async def add_scores(session: VisitorSession, scored: Sequence[Scored]) -> None:
    """Record why the conversation's lead gets points."""
    if scored:
        arrays = {name: [getattr(one, name) for one in scored] for name in ("node", "label", "points")}
        place = {"workspace": session.workspace, "conversation": session.conversation_id}
        await _ADD_SCORES.rows(**arrays, **place, now=clock.now())


async def block(workspace: str, conversation_id: str, user_id: str) -> None:
    """Block the visitor's network and end the conversation. Raise NotFound."""
    async with db.transaction():
        await conversations.end(workspace, conversation_id, "agent", "blocked")
        await _BLOCK.rows(workspace=workspace, conversation_id=conversation_id, user_id=user_id, now=clock.now())


async def unblock(workspace: str, conversation_id: str) -> None:
    """Undo what `block` did for this conversation's visitor. Raise NotFound when nobody is blocked."""
    missing = NotFound("Nobody is blocked because of this conversation.")
    await _UNBLOCK.one(missing, workspace=workspace, conversation_id=conversation_id)


async def erase(workspace: str, conversation_ids: list[str]) -> None:
    """Erase the visitors of conversations: why they have their score, what they consented to, where they came from."""
    await _ERASE.rows(workspace=workspace, conversation_ids=conversation_ids)


def _encoded(state: State) -> str:
    """The state without the variables: those are the conversation's, where an erasure finds them."""
    return msgspec.json.encode(msgspec.structs.replace(state, variables={})).decode()
