"""Every change of a visitor's session: its token, where it is in the flow, its points, its blocking and erasure."""

from collections.abc import Sequence
from typing import Final

import msgspec
from piccolo.querystring import QueryString

from leadwire.domain.bots import reads
from leadwire.domain.bots.engine import Scored, State
from leadwire.domain.bots.flow import Flow
from leadwire.domain.bots.schema import LiveBot, VisitorSession
from leadwire.domain.bots.table import BlockedVisitor, ScoreEntry, Visit
from leadwire.domain.conversations import changes as conversations
from leadwire.infrastructure import clock, db
from leadwire.infrastructure.db.statements import any_of, insert, param, sql, statement
from leadwire.infrastructure.errors import NotFound

_RETRIED_START: Final = 600  # seconds in which a start can be repeated

_ADD: Final = insert(
    Visit.conversation_id, Visit.workspace_id, Visit.bot_id, Visit.token_hash, Visit.start_key,
    Visit.address, Visit.state, Visit.nudge_minutes, Visit.inactivity_minutes, Visit.started_at,
)  # fmt: skip
_SAVE_STATE: Final = statement(
    Visit.update({Visit.state: param("state")}).where(Visit.conversation_id == param("conversation"))
)
# Another token for a session that has begun lately and in which the visitor has said one thing only.
_RENEW_TOKEN: Final = statement(
    Visit.update({Visit.token_hash: param("token_hash")})
    .where(
        Visit.conversation_id == param("conversation"),
        Visit.started_at > param("since"),
        QueryString(
            "1 = (SELECT count(*) FROM message WHERE conversation_id = {} AND role = 'user')", param("conversation")
        ),
    )
    .returning(Visit.conversation_id)
)
_RECORD_NUDGE: Final = statement(
    Visit.update(
        {Visit.nudged_at: QueryString("(SELECT updated_at FROM conversation WHERE id = {})", param("conversation"))}
    ).where(Visit.conversation_id == param("conversation"))
)
# One row for each rule that gave points; a rule counts once in a conversation.
_ADD_SCORES: Final = sql(
    """INSERT INTO score_entry (node, label, points, conversation_id, workspace_id, created_at)
       SELECT *, :conversation, :workspace, :now FROM unnest(:nodes::text[], :labels::text[], :points::int[])
       ON CONFLICT DO NOTHING"""
)

# Blocks the network of a conversation's visitor, unless it has been erased.
_BLOCK: Final = sql("""
INSERT INTO blocked_visitor (workspace_id, address, conversation_id, user_id, created_at)
SELECT :workspace, address, :conversation_id, :user_id, :now FROM visit
WHERE workspace_id = :workspace AND conversation_id = :conversation_id AND address IS NOT NULL
ON CONFLICT DO NOTHING""")
_UNBLOCK: Final = statement(
    BlockedVisitor.delete()
    .where(
        BlockedVisitor.workspace_id == param("workspace"),
        BlockedVisitor.conversation_id == param("conversation_id"),
    )
    .returning(BlockedVisitor.conversation_id)
)
_DELETE_SCORES: Final = statement(
    ScoreEntry.delete().where(
        ScoreEntry.workspace_id == param("workspace"), any_of(ScoreEntry.conversation_id, "conversation_ids")
    )
)
_ERASE_ADDRESSES: Final = statement(
    Visit.update({Visit.address: None}).where(
        Visit.workspace_id == param("workspace"), any_of(Visit.conversation_id, "conversation_ids")
    )
)


async def start(
    bot: LiveBot, flow: Flow, state: State, conversation_id: str, token: str, key: bytes, address: bytes | None
) -> VisitorSession:
    """Add the session of a new conversation. `key` finds it when the same start is sent again."""
    await _ADD.rows(
        conversation_id=conversation_id, workspace_id=bot.workspace, bot_id=bot.id, token_hash=reads.token_hash(token),
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
    renewed = await _RENEW_TOKEN.row(conversation=conversation_id, token_hash=reads.token_hash(token), since=since)
    return renewed is not None


async def record_nudge(conversation_id: str) -> None:
    """Record that the visitor was nudged, by the time of the nudge's message."""
    await _RECORD_NUDGE.rows(conversation=conversation_id)


async def add_scores(session: VisitorSession, scored: Sequence[Scored]) -> None:
    """Record why the conversation's lead gets points."""
    if scored:
        await _ADD_SCORES.rows(
            nodes=[one.node for one in scored], labels=[one.label for one in scored],
            points=[one.points for one in scored], conversation=session.conversation_id,
            workspace=session.workspace, now=clock.now(),
        )  # fmt: skip


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
