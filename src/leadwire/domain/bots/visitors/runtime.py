"""A visitor's turn, as one transaction: the message, the bot's replies, every event of it, or nothing at all.

Looking up a free question may take long and happens before it. If the conversation changes meanwhile, the turn starts
again.
"""

import hashlib
import logging
import secrets
from collections.abc import Mapping
from typing import Final

from leadwire.domain.bots import engine, reads
from leadwire.domain.bots.changes import counts, visitor_sessions
from leadwire.domain.bots.flow import attachments
from leadwire.domain.bots.schema import LiveBot, Turn, VisitorSession
from leadwire.domain.bots.visitors import turn
from leadwire.domain.bots.visitors.faq import Answerer, Question
from leadwire.domain.conversations import changes as conversations
from leadwire.domain.conversations import reads as conversation_reads
from leadwire.domain.conversations.changes import inbox
from leadwire.domain.conversations.schema import (
    AlreadyEnded,
    ConcurrentUpdate,
    NewMessage,
    Origin,
    Repeated,
    StoredMessage,
)
from leadwire.domain.mail import reads as mail
from leadwire.infrastructure import db, telemetry
from leadwire.infrastructure.errors import Conflict, InsufficientScope, Unavailable

_TRIES: Final = 4


async def start(
    bot: LiveBot, content: str, client_message_id: str, origin: Origin, address: bytes | None, answerer: Answerer
) -> Turn:
    """Open a conversation and take its first turn. `address` is the keyed hash of the visitor's network.

    Repeated with the same client_message_id, return the same turn with a new token. Raise NotFound, Conflict, Invalid;
    InsufficientScope when the visitor is blocked; Unavailable when others change the same lead again and again.
    """
    key = hashlib.sha256(f"{bot.id}\0{client_message_id}".encode()).digest()
    user = NewMessage(role="user", content=content, client_message_id=client_message_id)
    for _ in range(_TRIES):
        if known := await reads.session_by_start_key(key):
            return await _repeat_start(known, client_message_id)
        if await reads.is_blocked(bot.workspace, address):
            raise _blocked()
        state, greeting = engine.begin(bot.flow)
        answer, token = None, secrets.token_urlsafe(32)
        if engine.questions(bot.flow, state, content):
            answer = await _look_up(answerer, Question(bot.workspace, bot.id, content, state.asked))
        try:
            async with db.transaction():
                conversation_id = await conversations.start(bot.workspace, bot.id, origin, bot.version)
                session = await visitor_sessions.start(bot, state, conversation_id, token, key, address)
                counts.began(bot.id, origin.source, state.visited)
                now, messages = await turn.take(session, user, answer, greeting, origin.page)
            return turn_of(now, messages, token)
        except (ConcurrentUpdate, db.Deadlock, db.UniqueViolation):  # the last: the same start, at the same time
            continue
    raise _too_busy()


async def handle_message(
    session: VisitorSession,
    content: str,
    client_message_id: str,
    answerer: Answerer,
    page: Mapping[str, str] | None = None,
) -> Turn:
    """Take a visitor's turn; `page` as for `turn.take`. A repeated message gets the stored reply. Raise Invalid;
    Conflict when the conversation is over or full; InsufficientScope when the visitor is blocked; Unavailable when it
    changes again and again.
    """
    if session.blocked:
        raise _blocked()
    user = NewMessage(role="user", content=content, client_message_id=client_message_id)
    for attempt in range(_TRIES):
        answer = None
        is_question = session.status == "active" and engine.questions(session.flow, session.state, content)
        if is_question and await conversation_reads.reply_to(*session.place, client_message_id) is None:
            question = Question(session.workspace, session.bot_id, content, session.state.asked)
            answer = await _look_up(answerer, question)
        try:
            async with db.transaction():
                # It was read a moment ago; where it has changed since, others are waited for.
                now = await reads.current(session, lock=True) if attempt else session
                if now.status == "ended":
                    raise AlreadyEnded
                changed = (now.status, now.state) != (session.status, session.state)
                if changed and engine.questions(now.flow, now.state, content):
                    raise ConcurrentUpdate
                now, messages = await turn.take(now, user, answer, page=page)
            return turn_of(now, messages)
        except (AlreadyEnded, Repeated):
            stored = await conversation_reads.reply_to(*session.place, client_message_id)
            if stored is None:
                raise AlreadyEnded from None
            return turn_of(await reads.current(session), stored)
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
            now, messages = await turn.write(now, *engine.ask_for_person(now.flow, now.state))
    return turn_of(now, messages)


async def hand_back(session: VisitorSession, user_id: str) -> None:
    """An operator gives the conversation back, and the bot goes on where it was. Raise as `inbox.give_back`."""
    async with db.transaction():
        await inbox.give_back(*session.place, user_id)
        now = await reads.current(session, lock=True)
        state, effects = engine.enter(now.flow, now.state, now.state.at or now.flow.start)
        await turn.write(now, state, effects)


def turn_of(now: VisitorSession, messages: list[StoredMessage], token: str | None = None) -> Turn:
    """What the visitor gets: messages, and what is asked if the bot waits for them; with a token, the conversation."""
    prompt = engine.prompt(now.flow, now.state) if now.status == "active" else None
    mailable = now.has_email and mail.enabled()
    shown = attachments.for_widget(messages, now.flow.nodes)
    began = now.conversation_id if token else None
    return Turn(now.status, shown, prompt, began, token, mailable, now.lead_id is not None)


async def _repeat_start(session: VisitorSession, client_message_id: str) -> Turn:
    """The turn of a start that was sent again, while nothing else has been said since."""
    token = secrets.token_urlsafe(32)
    async with db.transaction():
        stored = await conversation_reads.reply_to(*session.place, client_message_id)
        if stored is None or not await visitor_sessions.renew_token(session.conversation_id, token):
            raise Conflict("This client_message_id has been used.", code="already_started")
    greeting = await conversation_reads.messages(*session.place, 0, stored[0].seq - 1)
    return turn_of(await reads.current(session), [*greeting, *stored], token)


async def _look_up(answerer: Answerer, question: Question) -> str | None:
    try:
        return await answerer(question)
    except Exception as error:  # noqa: BLE001 - a bot that cannot answer hands over, whatever the reason
        names = {"workspace_id": question.workspace, "bot_id": question.bot_id}
        telemetry.log("answer.failed", level=logging.WARNING, error=error, **names)
        return None


def _blocked() -> InsufficientScope:
    return InsufficientScope("You cannot chat here.", code="visitor_blocked")


def _too_busy() -> Unavailable:
    return Unavailable("The conversation is busy.", headers={"Retry-After": "1"})
