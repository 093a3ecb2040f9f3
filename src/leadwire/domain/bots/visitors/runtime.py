"""A visitor's turn: what is known is loaded, `decide` makes a plan of it, and that is stored, or nothing at all.

It is planned from what was read a moment ago, and stored if that is still so. If not, or if the visitor is a lead whom
others change meanwhile, the turn begins again, and waits for them. Looking up a free question may take long and happens
outside of transactions.
"""

import hashlib
import secrets
from collections.abc import AsyncIterator, Mapping
from contextlib import asynccontextmanager, nullcontext

from leadwire.domain.accounts import reads as accounts
from leadwire.domain.bots import reads
from leadwire.domain.bots.changes import visitor_sessions
from leadwire.domain.bots.flow import attachments, engine
from leadwire.domain.bots.flow.engine import Saved
from leadwire.domain.bots.schema import BotNotFound, GreetingChanged, LiveBot, Turn, VisitorBlocked, VisitorSession
from leadwire.domain.bots.visitors import decide
from leadwire.domain.bots.visitors.decide import Heard
from leadwire.domain.bots.visitors.faq import Answerer, Question
from leadwire.domain.bots.visitors.opening import greeting_digest
from leadwire.domain.bots.visitors.store import Start, store_turn
from leadwire.domain.conversations import changes as conversations
from leadwire.domain.conversations import plan as planning
from leadwire.domain.conversations import reads as conversation_reads
from leadwire.domain.conversations.changes import inbox
from leadwire.domain.conversations.schema import AlreadyEnded, NewMessage, Origin, StoredMessage
from leadwire.domain.conversations.store import ConcurrentUpdate, Repeated, repeated
from leadwire.domain.leads import holders
from leadwire.domain.leads.schema import Lead, LeadPatch
from leadwire.domain.mail import reads as mail
from leadwire.infrastructure import db, telemetry
from leadwire.infrastructure.errors import Conflict, invalid_field


async def start(
    bot: LiveBot,
    content: str,
    client_message_id: str,
    origin: Origin,
    address: bytes | None,
    answerer: Answerer,
    read: str | None = None,
) -> Turn:
    """Open a conversation and take its first turn. `address` is the keyed hash of the visitor's network; `read` is the
    digest of the greeting that they answer, if it is known.

    Repeated with the same client_message_id, return the same turn with a new token. Raise NotFound, Conflict, Invalid;
    VisitorBlocked; GreetingChanged; Unavailable when others change the same lead again and again.
    """
    key = _start_key(bot.id, client_message_id)
    user = NewMessage(role="user", content=content, client_message_id=client_message_id)

    async def begin(number: int) -> Turn:
        if earlier := await reads.session_by_start_key(key):
            return await _repeat_start(earlier, client_message_id)
        if await reads.is_blocked(bot.workspace, address):
            raise VisitorBlocked
        state, greeting = engine.begin(bot.flow)
        if read not in (None, greeting_digest(bot.flow, state, greeting)):
            raise GreetingChanged
        plan = planning.begin(bot.workspace, bot.id, origin, bot.version)
        session = VisitorSession(bot.workspace, plan.id, bot.id, bot.flow, "active", state, None, plan.known)
        answer = await _answer(session, content, answerer)
        heard = decide.hear(session, plan, user, answer, origin.page, greeting)
        token = secrets.token_urlsafe(32)
        return await _finish(heard, number, Start(token, key, address, origin.source))

    try:
        return await repeated(begin)
    except db.Orphaned:  # the bot has just been deleted
        raise BotNotFound from None


async def repeat_start(bot_id: str, client_message_id: str) -> Turn:
    """The turn of a start that was sent again, also when the bot is paused by now. Raise NotFound when there was none;
    Conflict when something else has been said since.
    """
    earlier = await reads.session_by_start_key(_start_key(bot_id, client_message_id))
    if earlier is None or earlier.suspended:
        raise BotNotFound
    return await _repeat_start(earlier, client_message_id)


async def handle_message(
    session: VisitorSession,
    content: str,
    client_message_id: str,
    answerer: Answerer,
    page: Mapping[str, str] | None = None,
) -> Turn:
    """Take a visitor's turn; `page` as for `decide.hear`. A repeated message gets the stored reply. Raise Invalid;
    Conflict when the conversation is over or full; Unavailable when it changes again and again.
    """
    user = NewMessage(role="user", content=content, client_message_id=client_message_id)

    async def take(number: int) -> Turn:
        before = await reads.current(session) if number else session
        answer = await _answer(before, content, answerer, client_message_id)
        heard = decide.hear(before, planning.change(before.known), user, answer, page)
        async with _kept(before, number, heard) as now:
            changed = (now.status, now.state) != (before.status, before.state)
            if changed and engine.questions(now.flow, now.state, content):
                raise ConcurrentUpdate
            if now is not before:
                heard = decide.hear(now, planning.change(now.known), user, answer, page)
            return await _finish(heard, number)

    try:
        return await repeated(take)
    except (AlreadyEnded, planning.ConversationFull, Repeated) as refused:
        stored = await conversation_reads.reply_to(*session.place, client_message_id)
        if stored is None:
            raise (AlreadyEnded() if isinstance(refused, Repeated) else refused) from None
        return turn_of(await reads.current(session), stored)


async def hand_off(session: VisitorSession) -> Turn:
    """The visitor asks for a person. Asking again changes nothing. Raise Conflict when the conversation has ended."""

    async def ask(number: int) -> Turn:
        async with _kept(session, number) as now:
            if now.status != "active":
                return turn_of(now, [])
            state, effects = engine.ask_for_person(now.flow, now.state)
            return await _finish(decide.heard(now, planning.change(now.known), state, effects), number)

    return await repeated(ask)


async def hand_back(session: VisitorSession, user_id: str) -> None:
    """An operator gives the conversation back, and the bot goes on where it was. Raise as `inbox.give_back`."""

    async def go_on(_: int) -> None:
        async with db.transaction():
            await _wait_for_address(_gone_on(session))
            await inbox.give_back(*session.place, user_id)
            await _finish(_gone_on(await reads.current(session, lock=True)))

    await repeated(go_on)


async def capture(workspace: str, conversation_id: str, contact: LeadPatch) -> Lead:
    """An operator adds the e-mail address and the name of a visitor, who becomes a lead as by answers of their own.
    Raise as `conversations.changes.capture_lead`.
    """
    if not (session := await reads.session(workspace, conversation_id)):  # begun in another installation
        return await conversations.capture_lead(workspace, conversation_id, contact)
    answers = [Saved(name, text) for name in ("email", "name") if isinstance(text := getattr(contact, name), str)]

    async def add(_: int) -> Lead:
        async with db.transaction():
            await holders.wait_for(session.bot_id, contact)
            now = await reads.current(session, lock=True)
            if now.lead_id:
                raise conversations.LeadKnown
            await _finish(decide.heard(now, planning.change(now.known), now.state, answers))
            if (lead := (await reads.current(session)).known.lead) is None:
                raise invalid_field("/email", "required", "Enter an e-mail address.")
            return lead.lead

    return await repeated(add)


def turn_of(now: VisitorSession, messages: list[StoredMessage], token: str | None = None) -> Turn:
    """What the visitor gets: messages, and what is asked if the bot waits for them; with a token, the conversation."""
    prompt = engine.prompt(now.flow, now.state) if now.status == "active" else None
    mailable = now.has_email and mail.enabled()
    shown = attachments.for_widget(messages, now.flow.nodes)
    began = now.conversation_id if token else None
    return Turn(now.status, shown, prompt, began, token, mailable, now.lead_id is not None)


@asynccontextmanager
async def _kept(session: VisitorSession, number: int, heard: Heard | None = None) -> AsyncIterator[VisitorSession]:
    """The session as it was read; from the second try on as it is now, and stays in the block. Raise AlreadyEnded.

    `heard` is what the turn comes to if nothing has changed.
    """
    async with db.transaction() if number else nullcontext():
        if number and heard:
            await _wait_for_address(heard)
        now = await reads.current(session, lock=True) if number else session
        if now.status == "ended":
            raise AlreadyEnded
        yield now


def _gone_on(now: VisitorSession) -> Heard:
    """The bot goes on where it was."""
    state, effects = engine.enter(now.flow, now.state, now.state.at or now.flow.start)
    return decide.heard(now, planning.change(now.known), state, effects)


async def _wait_for_address(heard: Heard) -> None:
    """Wait for others who give the same address, before anything is locked that they may wait for."""
    if heard.needs_holder and heard.patch:
        await holders.wait_for(heard.session.bot_id, heard.patch)


async def _finish(heard: Heard, number: int = 0, start: Start | None = None) -> Turn:
    """Look who else is concerned, decide, and store. Raise as `store_turn`."""
    if heard.failure:
        names = {"workspace_id": heard.session.workspace, "conversation_id": heard.session.conversation_id}
        telemetry.fail("bot.failed", error=heard.failure, **names)
    workspace, patch, holder = heard.session.workspace, heard.patch, None
    # Phone numbers take turns, and so do those who have met somebody else's change.
    async with db.transaction() if number or (heard.needs_holder and not (patch and patch.email)) else nullcontext():
        if heard.needs_holder and patch:
            holder = await holders.holder(workspace, heard.session.bot_id, patch)
        online = heard.needs_person and await accounts.agent_online(workspace)
        turn = decide.decide(heard, holder, online=online)
        await store_turn(turn, start)
    return turn_of(turn.after, list(turn.talk.messages), start.token if start else None)


def _start_key(bot_id: str, client_message_id: str) -> bytes:
    return hashlib.sha256(f"{bot_id}\0{client_message_id}".encode()).digest()


async def _repeat_start(session: VisitorSession, client_message_id: str) -> Turn:
    """The turn of a start that was sent again, while nothing else has been said since."""
    token = secrets.token_urlsafe(32)
    async with db.transaction():
        stored = await conversation_reads.reply_to(*session.place, client_message_id)
        if stored is None or not await visitor_sessions.renew_token(session.conversation_id, token):
            raise Conflict("This client_message_id has been used.", code="already_started")
    greeting = await conversation_reads.messages(*session.place, 0, stored[0].seq - 1)
    return turn_of(await reads.current(session), [*greeting, *stored], token)


async def _answer(
    session: VisitorSession, content: str, answerer: Answerer, client_message_id: str | None = None
) -> str | None:
    """The answer to a free question that is new. None where there is none, or nothing is asked."""
    if session.status != "active" or not engine.questions(session.flow, session.state, content):
        return None
    if client_message_id and await conversation_reads.reply_to(*session.place, client_message_id) is not None:
        return None
    question = Question(session.workspace, session.bot_id, content, session.state.asked)
    try:
        return await answerer(question)
    except Exception as error:  # noqa: BLE001 - a bot that cannot answer hands over, whatever the reason
        names = {"workspace_id": question.workspace, "bot_id": question.bot_id}
        telemetry.warn("answer.failed", error=error, **names)
        return None
