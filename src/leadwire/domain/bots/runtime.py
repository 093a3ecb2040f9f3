"""A visitor's turn, as one transaction: the message, the bot's replies, every event of it, or nothing at all.

`turn` says what happens inside the transaction. What may take long, looking up a free question, happens before it; if
the conversation has changed meanwhile, the turn starts again.
"""

import hashlib
import logging
import secrets
from typing import Final

from msgspec import Struct

from leadwire.domain.bots import engine, reads, turn
from leadwire.domain.bots.capture import ConcurrentUpdate
from leadwire.domain.bots.changes import visitor_sessions
from leadwire.domain.bots.engine import Prompt, State, VisitorInput
from leadwire.domain.bots.faq import Answerer, Question
from leadwire.domain.bots.flow import Flow
from leadwire.domain.bots.schema import LiveBot, Turn, VisitorSession
from leadwire.domain.conversations import changes as conversations
from leadwire.domain.conversations import reads as conversation_reads
from leadwire.domain.conversations.changes import inbox
from leadwire.domain.conversations.schema import AlreadyEnded, NewMessage, Origin, StoredMessage
from leadwire.infrastructure import db, telemetry
from leadwire.infrastructure.errors import Conflict, InsufficientScope, Unavailable

_TRIES: Final = 4


class Opening(Struct, frozen=True, kw_only=True):
    """A visitor's first message, and what is known of where it comes from."""

    content: str
    client_message_id: str
    origin: Origin
    address: bytes | None = None


async def start(bot: LiveBot, opening: Opening, answerer: Answerer) -> Turn:
    """Open a conversation and take its first turn. Repeated with the same client_message_id, return the same turn with
    a new token. Raise NotFound, Conflict, Invalid; InsufficientScope when the visitor is blocked; Unavailable when
    others change the same lead again and again.
    """
    key = hashlib.sha256(f"{bot.id}\0{opening.client_message_id}".encode()).digest()
    if known := await reads.session_by_start_key(key):
        return await _repeat_start(known, opening)
    if await reads.is_blocked(bot.workspace, opening.address):
        raise _blocked()
    flow = await reads.flow(bot.workspace, bot.id, bot.version)
    state, greeting = engine.begin(flow)
    answer = await _look_up(bot.workspace, bot.id, flow, state, opening.content, answerer)
    token = secrets.token_urlsafe(32)
    for _ in range(_TRIES):
        try:
            async with db.transaction():
                conversation_id = await conversations.start(bot.workspace, bot.id, opening.origin, bot.version)
                session = await visitor_sessions.start(bot, flow, state, conversation_id, token, key, opening.address)
                given = VisitorInput(opening.content, answer)
                messages = await turn.take(session, flow, given, opening.client_message_id, greeting)
            return await _turn(session, messages, token)
        except (ConcurrentUpdate, db.Deadlock):
            continue
        except db.UniqueViolation:  # the same start, at the same time
            if known := await reads.session_by_start_key(key):
                return await _repeat_start(known, opening)
    raise _too_busy()


async def handle_message(session: VisitorSession, content: str, client_message_id: str, answerer: Answerer) -> Turn:
    """Take a visitor's turn. A repeated message gets the stored reply. Raise Invalid; Conflict when the conversation is
    over or full; InsufficientScope when the visitor is blocked; Unavailable when it changes again and again.
    """
    if session.blocked:
        raise _blocked()
    for _ in range(_TRIES):
        flow = await reads.flow(session.workspace, session.bot_id, session.version)
        answer = None
        is_question = session.status == "active" and engine.questions(flow, session.state, content)
        if is_question and await conversation_reads.reply_to(*session.place, client_message_id) is None:
            answer = await _look_up(session.workspace, session.bot_id, flow, session.state, content, answerer)
        try:
            async with db.transaction():
                now = await reads.current(session, lock=True)
                messages = await conversation_reads.reply_to(*session.place, client_message_id)
                if messages is None:
                    if now.status == "ended":
                        raise AlreadyEnded
                    changed = (now.status, now.state) != (session.status, session.state)
                    if changed and engine.questions(flow, now.state, content):
                        raise ConcurrentUpdate
                    messages = await turn.take(now, flow, VisitorInput(content, answer), client_message_id)
            return await _turn(now, messages)
        except (ConcurrentUpdate, db.Deadlock):
            session = await reads.current(session)
    raise _too_busy()


async def hand_off(session: VisitorSession) -> Turn:
    """The visitor asks for a person. Asking again changes nothing. Raise Conflict when the conversation has ended."""
    async with db.transaction():
        now = await reads.current(session, lock=True)
        if now.status == "ended":
            raise AlreadyEnded
        messages: list[StoredMessage] = []
        if now.status == "active":
            flow = await reads.flow(now.workspace, now.bot_id, now.version)
            reply = NewMessage(role="bot", content=flow.handoff_text)
            messages = await conversations.add_messages(*now.place, [reply])
            await conversations.hand_off(*now.place, engine.ASKED_FOR_A_PERSON)
            messages += await turn.away_replies(now, flow)
    return await _turn(now, messages)


async def hand_back(workspace: str, conversation_id: str, user_id: str) -> None:
    """An operator gives the conversation back, and the bot goes on where it was. Raise as `inbox.give_back`."""
    async with db.transaction():
        await inbox.give_back(workspace, conversation_id, user_id)
        session = await reads.session(workspace, conversation_id, lock=True)
        if session is not None:
            flow = await reads.flow(workspace, session.bot_id, session.version)
            state, effects = engine.enter(flow, session.state, session.state.at or flow.start)
            await turn.write(session, flow, state, effects, [])


async def prompt(session: VisitorSession) -> Prompt | None:
    """What the visitor is asked for; None unless the bot is waiting for them."""
    if session.status != "active":
        return None
    return engine.prompt(await reads.flow(session.workspace, session.bot_id, session.version), session.state)


async def _repeat_start(session: VisitorSession, opening: Opening) -> Turn:
    """The turn of a start that was sent again, while nothing else has been said since."""
    token = secrets.token_urlsafe(32)
    async with db.transaction():
        stored = await conversation_reads.reply_to(*session.place, opening.client_message_id)
        if stored is None or not await visitor_sessions.renew_token(session.conversation_id, token):
            raise Conflict("This client_message_id has been used.", code="already_started")
    greeting = await conversation_reads.messages(*session.place, 0, stored[0].seq - 1)
    return await _turn(session, [*greeting, *stored], token)


async def _turn(session: VisitorSession, messages: list[StoredMessage], token: str | None = None) -> Turn:
    """What the visitor gets: the messages, and the conversation's status. Raise Conflict when it is gone."""
    now = await reads.current(session)
    return Turn(now.conversation_id, now.status, messages, await prompt(now), token)


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
