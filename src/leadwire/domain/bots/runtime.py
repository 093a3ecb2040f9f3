"""A visitor's turn, as one transaction: what was said, what the bot makes of it, every event of it, or nothing at all.

What may take long, looking a free question up, happens before the transaction begins; if the conversation has moved
meanwhile, the turn starts again.
"""

import hashlib
import logging
import secrets
from typing import Final

from msgspec import Struct

from leadwire.domain.bots import engine, offline, reads, turn
from leadwire.domain.bots.capture import ConcurrentUpdate
from leadwire.domain.bots.engine import State, VisitorInput
from leadwire.domain.bots.faq import Answerer, Question
from leadwire.domain.bots.flow import Flow
from leadwire.domain.bots.schema import LiveBot, Turn, VisitorSession
from leadwire.domain.conversations import changes as conversations
from leadwire.domain.conversations import inbox, refusals
from leadwire.domain.conversations import reads as conversation_reads
from leadwire.domain.conversations.schema import NewMessage, Origin, StoredMessage
from leadwire.infrastructure import clock, db, telemetry
from leadwire.infrastructure.errors import Conflict, InsufficientScope, Unavailable

_TRIES: Final = 4
_RETRIED_START: Final = 600  # seconds in which a start can be repeated


class Opening(Struct, frozen=True, kw_only=True):
    """The first thing a visitor says, and all that the page tells of them."""

    content: str
    client_message_id: str
    origin: Origin
    address: bytes | None = None


async def start(bot: LiveBot, opening: Opening, answerer: Answerer) -> Turn:
    """Open a conversation and take its first turn. Repeated with the same client_message_id it answers the same again,
    with a new token. Raises NotFound, Conflict, Invalid; InsufficientScope when the visitor is blocked; Unavailable
    when others change the same lead again and again.
    """
    key = hashlib.sha256(f"{bot.id}\0{opening.client_message_id}".encode()).digest()
    if known := await reads.visit_started(key):
        return await _started_before(known, opening)
    if await reads.is_blocked(bot.workspace, opening.address):
        raise _blocked()
    flow = await reads.flow(bot.workspace, bot.id, bot.version)
    state, greeting = engine.begin(flow)
    answer = await _look_up(bot.workspace, bot.id, flow, state, opening.content, answerer)
    token = secrets.token_urlsafe(32)
    for _ in range(_TRIES):
        try:
            async with db.transaction():
                visit = await _open(bot, flow, state, opening, key, token)
                said = VisitorInput(opening.content, answer)
                spoken = await turn.take_turn(visit, flow, said, opening.client_message_id, greeting)
            return await turn.answer(visit, spoken, token)
        except (ConcurrentUpdate, db.Deadlock):
            continue
        except db.UniqueViolation:  # the same start, at the same time
            if known := await reads.visit_started(key):
                return await _started_before(known, opening)
    raise _too_busy()


async def handle_message(visit: VisitorSession, content: str, client_message_id: str, answerer: Answerer) -> Turn:
    """Take a visitor's turn. A repeated one gets the stored reply. Raises Invalid; Conflict when the conversation is
    over or full; InsufficientScope when the visitor is blocked; Unavailable when it moves again and again.
    """
    if visit.blocked:
        raise _blocked()
    for _ in range(_TRIES):
        flow = await reads.flow(visit.workspace, visit.bot_id, visit.version)
        answer = None
        asks = visit.status == "active" and engine.questions(flow, visit.state, content)
        if (
            asks
            and await conversation_reads.reply_to(visit.workspace, visit.conversation_id, client_message_id) is None
        ):
            answer = await _look_up(visit.workspace, visit.bot_id, flow, visit.state, content, answerer)
        try:
            async with db.transaction():
                now = await turn.locked(visit)
                stored = await conversation_reads.reply_to(visit.workspace, visit.conversation_id, client_message_id)
                if stored is None:
                    if now.status == "ended":
                        raise refusals.ended()
                    if engine.questions(flow, now.state, content) and (now.status, now.state) != (
                        visit.status,
                        visit.state,
                    ):
                        raise ConcurrentUpdate
                    stored = await turn.take_turn(now, flow, VisitorInput(content, answer), client_message_id)
            return await turn.answer(now, stored)
        except (ConcurrentUpdate, db.Deadlock):
            visit = await turn.present(visit)
    raise _too_busy()


async def hand_off(visit: VisitorSession) -> Turn:
    """The visitor asks for a person. Asking again changes nothing. Raises Conflict when ended."""
    async with db.transaction():
        now = await turn.locked(visit)
        if now.status == "ended":
            raise refusals.ended()
        spoken: list[StoredMessage] = []
        if now.status == "active":
            flow = await reads.flow(now.workspace, now.bot_id, now.version)
            reply = NewMessage(role="bot", content=flow.handoff_text)
            spoken = await conversations.add_messages(now.workspace, now.conversation_id, [reply])
            await conversations.hand_off(now.workspace, now.conversation_id, engine.ASKED_FOR_A_PERSON)
            spoken += await offline.replies(now, flow)
    return await turn.answer(now, spoken)


async def hand_back(workspace: str, conversation_id: str, user_id: str) -> None:
    """An operator gives the conversation back, and the bot goes on where it was. Raises as `inbox.give_back`."""
    async with db.transaction():
        await inbox.give_back(workspace, conversation_id, user_id)
        visit = await reads.visit_of(workspace, conversation_id, lock=True)
        if visit is not None:
            flow = await reads.flow(workspace, visit.bot_id, visit.version)
            state, effects = engine.enter(flow, visit.state, visit.state.at or flow.start)
            await turn.write_turn(visit, flow, state, effects, [])


async def _open(bot: LiveBot, flow: Flow, state: State, opening: Opening, key: bytes, token: str) -> VisitorSession:
    """The rows of a new conversation and its visit."""
    conversation_id = await conversations.start(bot.workspace, bot.id, opening.origin, bot.version)
    await db.rows(
        """INSERT INTO visit (conversation_id, workspace_id, bot_id, token_hash, start_key, address, state,
               nudge_minutes, inactivity_minutes, started_at) VALUES ($1, $2, $3, $4, $5, $6, $7, $8, $9, $10)""",
        conversation_id, bot.workspace, bot.id, reads.token_hash(token), key, opening.address, turn.encode_state(state),
        flow.nudge_minutes if flow.nudge_text else None, flow.inactivity_minutes, clock.now(),
    )  # fmt: skip
    return VisitorSession(bot.workspace, conversation_id, bot.id, bot.version, "active", state, None)


async def _started_before(visit: VisitorSession, opening: Opening) -> Turn:
    """The answer to a start that came twice, as long as it is news to nobody but the visitor."""
    token = secrets.token_urlsafe(32)
    async with db.transaction():
        stored = await conversation_reads.reply_to(visit.workspace, visit.conversation_id, opening.client_message_id)
        renewed = await db.value(
            """UPDATE visit SET token_hash = $2 WHERE conversation_id = $1 AND started_at > $3 AND 1 = (
                   SELECT count(*) FROM message WHERE conversation_id = $1 AND role = 'user') RETURNING 1""",
            visit.conversation_id, reads.token_hash(token), clock.ago(seconds=_RETRIED_START),
        )  # fmt: skip
        if stored is None or renewed is None:
            raise Conflict("This client_message_id has been used.", code="already_started")
    first = await conversation_reads.spoken(visit.workspace, visit.conversation_id, 0, stored[0].seq - 1)
    return await turn.answer(visit, [*first, *stored], token)


async def _look_up(
    workspace: str, bot_id: str, flow: Flow, state: State, content: str, answerer: Answerer
) -> str | None:
    if not engine.questions(flow, state, content):
        return None
    try:
        return await answerer.answer(Question(workspace, bot_id, content, state.asked))
    except Exception as error:  # noqa: BLE001 - a bot that cannot answer hands over, whatever the reason
        telemetry.log("answer.failed", level=logging.WARNING, error=error, bot_id=bot_id)
        return None


def _blocked() -> InsufficientScope:
    return InsufficientScope("You cannot chat here.", code="visitor_blocked")


def _too_busy() -> Unavailable:
    return Unavailable("The conversation is busy.", headers={"Retry-After": "1"})
