"""The inside of a turn: what the engine's effects become, in the transaction that `bots.runtime` has opened.

When a person is asked for and nobody has the inbox open, the bot says so, and asks for an e-mail address.
"""

import contextlib
import itertools
import logging
import re
from collections.abc import Sequence
from typing import Final

from leadwire.domain.accounts import reads as accounts
from leadwire.domain.bots import capture, engine, inputs
from leadwire.domain.bots.changes import visitor_sessions
from leadwire.domain.bots.engine import Effect, Ended, HandedOff, Reply, State, VisitorInput
from leadwire.domain.bots.flow import Ask, Flow
from leadwire.domain.bots.schema import VisitorSession
from leadwire.domain.conversations import changes as conversations
from leadwire.domain.conversations.schema import MAX_MESSAGES, NewMessage, StoredMessage
from leadwire.domain.leads import identity
from leadwire.infrastructure import telemetry
from leadwire.infrastructure.db.statements import sql

_AROUND: Final = re.compile(r"[\s<>()\[\],;:\"']+")  # what parts an address from the words around it
_LONGEST: Final = 254  # characters of an address
_TRIED: Final = 5  # words of one message

# Whether the visitor's address is known, whether somebody has claimed the conversation, and whether it is full.
_CONTACT: Final = sql("""
SELECT coalesce(l.email, c.visitor_email) IS NOT NULL, c.assigned_to IS NOT NULL, c.messages_count >= :most
FROM conversation c LEFT JOIN lead l ON l.id = c.lead_id WHERE c.workspace_id = :workspace AND c.id = :conversation""")


async def take(
    session: VisitorSession, flow: Flow, given: VisitorInput, client_message_id: str, greeting: Sequence[Effect] = ()
) -> list[StoredMessage]:
    """Store the visitor's message, and what follows from it. Return every message, the greeting's first.

    Raise ConcurrentUpdate; Invalid and Conflict as `conversations.changes.add_messages`.
    """
    if session.status == "handoff":  # a person answers, not the bot
        user = NewMessage(role="user", content=given.text, client_message_id=client_message_id)
        return await _store_message(session, flow, user)
    try:
        state, effects = engine.step(flow, session.state, given)
    except Exception as error:  # noqa: BLE001 - a failing bot hands over instead of going silent
        telemetry.log("bot.failed", level=logging.ERROR, error=error, conversation_id=session.conversation_id)
        state, effects = session.state, [Reply(flow.failure_text), HandedOff("the bot failed")]
    content, field = _understood(flow, session.state, given.text)
    user = NewMessage(role="user", content=content, answers=field, client_message_id=client_message_id)
    other = [one for one in greeting if not isinstance(one, Reply)]
    return await write(session, flow, state, [*other, *effects], [*_messages(greeting), user])


async def write(
    session: VisitorSession, flow: Flow, state: State, effects: Sequence[Effect], first: Sequence[NewMessage]
) -> list[StoredMessage]:
    """Write a turn: its messages, its lead, the new state of the flow, and whether it is over. Raise as `take`."""
    messages = await conversations.add_messages(*session.place, [*first, *_messages(effects)])
    await capture.save_answers(session, flow, state, effects)
    await visitor_sessions.save_state(session.conversation_id, state)
    for effect in effects:
        if isinstance(effect, HandedOff):
            await conversations.hand_off(*session.place, effect.reason)
            messages += await away_replies(session, flow)
        elif isinstance(effect, Ended):
            await conversations.end(*session.place, "bot", effect.reason)
    return messages


async def away_replies(session: VisitorSession, flow: Flow) -> list[StoredMessage]:
    """What the bot says to a visitor who waits while nobody has the inbox open, in the transaction of their turn."""
    reachable, _, full = await _contact(session)
    if full or await accounts.agent_online(session.workspace):  # full: that a person was asked for still counts
        return []
    text = flow.away_known_text if reachable else flow.away_text
    return await conversations.add_messages(*session.place, [NewMessage(role="bot", content=text)])


async def _store_message(session: VisitorSession, flow: Flow, user: NewMessage) -> list[StoredMessage]:
    """Store a message of a visitor who waits. If it holds the e-mail address that the bot asked for, make them a lead.

    Raise ConcurrentUpdate; Invalid and Conflict as `conversations.changes.add_messages`.
    """
    email = _address(user.content)
    reachable, claimed, _ = await _contact(session)
    if email is None or reachable or claimed:
        return await conversations.add_messages(*session.place, [user])
    message = NewMessage(role="user", content=user.content, answers="email", client_message_id=user.client_message_id)
    thanks = NewMessage(role="bot", content=flow.away_thanks_text)
    messages = await conversations.add_messages(*session.place, [message, thanks])
    await capture.save_email(session, flow, email)
    return messages


async def _contact(session: VisitorSession) -> tuple[bool, bool, bool]:
    found = await _CONTACT.row(workspace=session.workspace, conversation=session.conversation_id, most=MAX_MESSAGES)
    return (found[0], found[1], found[2]) if found else (True, True, True)


def _address(text: str) -> str | None:
    # Words, not one expression for an address: strangers write this, and it must not take long whatever they write.
    like_one = (word for word in _AROUND.split(text) if word.count("@") == 1 and len(word) <= _LONGEST)
    for word in itertools.islice(like_one, _TRIED):
        try:
            return identity.email(word.rstrip(".!?"))
        except ValueError:
            continue
    return None


def _understood(flow: Flow, state: State, text: str) -> tuple[str, str | None]:
    """What is stored of the visitor's message: an option's label for the option; and which lead field it answers."""
    node = flow.node(state.at) if state.at else None
    if not isinstance(node, Ask):
        return text, None
    if node.input == "choice":
        with contextlib.suppress(ValueError):
            text = inputs.option(node, text).label
    return text, node.save_to or node.id


def _messages(effects: Sequence[Effect]) -> list[NewMessage]:
    """The bot's messages. Those that repeat the visitor's own words are erased with the lead, as theirs are."""
    return [
        NewMessage(role="bot", content=one.text, answers="repeated" if one.personal else None)
        for one in effects
        if isinstance(one, Reply)
    ]
