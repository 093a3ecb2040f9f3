"""The inside of a turn: what the engine's effects become, in the transaction that `bots.runtime` has opened."""

import contextlib
import logging
from collections.abc import Sequence

from leadwire.domain.bots import capture, engine, inputs, offline
from leadwire.domain.bots.changes import visitor_sessions
from leadwire.domain.bots.engine import Effect, Ended, HandedOff, Reply, State, VisitorInput
from leadwire.domain.bots.flow import Ask, Flow
from leadwire.domain.bots.schema import VisitorSession
from leadwire.domain.conversations import changes as conversations
from leadwire.domain.conversations.schema import NewMessage, StoredMessage
from leadwire.infrastructure import telemetry


async def take(
    session: VisitorSession, flow: Flow, given: VisitorInput, client_message_id: str, greeting: Sequence[Effect] = ()
) -> list[StoredMessage]:
    """Store the visitor's message, and what follows from it. Return every message, the greeting's first.

    Raise ConcurrentUpdate; Invalid and Conflict as `conversations.changes.add_messages`.
    """
    if session.status == "handoff":  # a person answers, not the bot
        user = NewMessage(role="user", content=given.text, client_message_id=client_message_id)
        return await offline.store_message(session, flow, user)
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
            messages += await offline.replies(session, flow)
        elif isinstance(effect, Ended):
            await conversations.end(*session.place, "bot", effect.reason)
    return messages


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
