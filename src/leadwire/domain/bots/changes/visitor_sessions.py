"""Every change of a visitor's session: its token, where it is in the flow, its points, its blocking and erasure."""

from collections.abc import Sequence
from typing import Final

import msgspec
from piccolo.querystring import QueryString

from leadwire.domain.accounts import keys
from leadwire.domain.bots.engine import Scored, State
from leadwire.domain.bots.flow import Flow
from leadwire.domain.bots.schema import LiveBot, VisitorSession
from leadwire.domain.bots.table import BlockedVisitor, ScoreEntry, Visit
from leadwire.domain.conversations import changes as conversations
from leadwire.infrastructure import clock, db
from leadwire.infrastructure.db.statements import any_of, columns, insert, param, sql, statement
from leadwire.infrastructure.errors import NotFound

_RETRIED_START: Final = 600  # seconds in which a start can be repeated

_CONVERSATION: Final = Visit.conversation_id == param("conversation")
_ADD: Final = insert(
    *columns(Visit, "conversation_id workspace_id bot_id token_hash start_key address state started_at"),
    *columns(Visit, "nudge_minutes inactivity_minutes"),
)
_SAVE_STATE: Final = statement(Visit.update(state=param("state")).where(_CONVERSATION))
_ONE_MESSAGE: Final = QueryString(
    "1 = (SELECT count(*) FROM message WHERE conversation_id = {} AND role = 'user')", param("conversation")
)
# Another token for a session that has begun lately and in which the visitor has said one thing only.
_RENEW_TOKEN: Final = statement(
    Visit.update(token_hash=param("token_hash"))
    .where(_CONVERSATION, Visit.started_at > param("since"), _ONE_MESSAGE)
    .returning(Visit.conversation_id)
)
_LAST_CHANGE: Final = QueryString("(SELECT updated_at FROM conversation WHERE id = {})", param("conversation"))
_RECORD_NUDGE: Final = statement(Visit.update(nudged_at=_LAST_CHANGE).where(_CONVERSATION))
# One row for each rule that gave points; a rule counts once in a conversation.
_ADD_SCORES: Final = sql("""
INSERT INTO score_entry (node, label, points, conversation_id, workspace_id, created_at)
SELECT *, :conversation, :workspace, :now FROM unnest(:node::text[], :label::text[], :points::int[])
ON CONFLICT DO NOTHING""")

# Blocks the network of a conversation's visitor, unless it has been erased.
_BLOCK: Final = sql("""
INSERT INTO blocked_visitor (workspace_id, address, conversation_id, user_id, created_at)
SELECT :workspace, address, :conversation_id, :user_id, :now FROM visit
WHERE workspace_id = :workspace AND conversation_id = :conversation_id AND address IS NOT NULL
ON CONFLICT DO NOTHING""")
_BLOCKED_FOR: Final = (
    BlockedVisitor.workspace_id == param("workspace"),
    BlockedVisitor.conversation_id == param("conversation_id"),
)
_UNBLOCK: Final = statement(BlockedVisitor.delete().where(*_BLOCKED_FOR).returning(BlockedVisitor.conversation_id))
_DELETE_SCORES: Final = statement(
    ScoreEntry.delete().where(
        ScoreEntry.workspace_id == param("workspace"), any_of(ScoreEntry.conversation_id, "conversation_ids")
    )
)
_ERASE_ADDRESSES: Final = statement(
    Visit.update(address=None).where(
        Visit.workspace_id == param("workspace"), any_of(Visit.conversation_id, "conversation_ids")
    )
)


async def start(
    bot: LiveBot, flow: Flow, state: State, conversation_id: str, token: str, key: bytes, address: bytes | None
) -> VisitorSession:
    """Add the session of a new conversation. `key` finds it when the same start is sent again."""
    await _ADD.rows(
        conversation_id=conversation_id, workspace_id=bot.workspace, bot_id=bot.id, token_hash=keys.digest(token),
        start_key=key, address=address, state=_encoded(state), started_at=clock.now(),
        nudge_minutes=flow.nudge_minutes if flow.nudge_text else None, inactivity_minutes=flow.inactivity_minutes,
    )  # fmt: skip
    return VisitorSession(bot.workspace, conversation_id, bot.id, bot.version, "active", state, None)


async def save_state(conversation_id: str, state: State) -> None:
    """Record where the visitor is in the flow."""
    await _SAVE_STATE.rows(conversation=conversation_id, state=_encoded(state))


async def renew_token(conversation_id: str, token: str) -> bool:
    """Replace the token of a session that has just begun. Return False when it is too late for that."""
    since = clock.ago(seconds=_RETRIED_START)
    return bool(await _RENEW_TOKEN.rows(conversation=conversation_id, token_hash=keys.digest(token), since=since))


async def record_nudge(conversation_id: str) -> None:
    """Record that the visitor was nudged, by the time of the nudge's message."""
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
    if not await _UNBLOCK.rows(workspace=workspace, conversation_id=conversation_id):
        raise NotFound("Nobody is blocked because of this conversation.")


async def erase(workspace: str, conversation_ids: list[str]) -> None:
    """Erase the visitors of conversations: why they have their score, and from which network they came."""
    await _DELETE_SCORES.rows(workspace=workspace, conversation_ids=conversation_ids)
    await _ERASE_ADDRESSES.rows(workspace=workspace, conversation_ids=conversation_ids)


def _encoded(state: State) -> str:
    """The state without the variables: those are the conversation's, where an erasure finds them."""
    return msgspec.json.encode(msgspec.structs.replace(state, variables={})).decode()
