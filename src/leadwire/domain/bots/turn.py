"""The inside of a turn: what the engine's effects become, in the transaction that `bots.runtime` has opened."""

import contextlib
import logging
from collections.abc import Sequence

import msgspec

from leadwire.domain.bots import capture, engine, inputs, offline, reads
from leadwire.domain.bots.engine import Effect, Ended, HandedOff, Prompt, Reply, State, VisitorInput
from leadwire.domain.bots.flow import Ask, Flow
from leadwire.domain.bots.schema import Turn, VisitorSession
from leadwire.domain.conversations import changes as conversations
from leadwire.domain.conversations import refusals
from leadwire.domain.conversations.schema import NewMessage, StoredMessage
from leadwire.infrastructure import db, telemetry


async def take_turn(
    visit: VisitorSession, flow: Flow, said: VisitorInput, client_message_id: str, greeting: Sequence[Effect] = ()
) -> list[StoredMessage]:
    """Store what the visitor said, and what follows from it. Answers all that was said, the greeting first.

    Raises Moved; Invalid and Conflict as `conversations.changes.speak`.
    """
    if visit.status == "handoff":  # people are talking; the bot listens
        user = NewMessage(role="user", content=said.text, client_message_id=client_message_id)
        return await offline.handle_message(visit, flow, user)
    try:
        state, effects = engine.step(flow, visit.state, said)
    except Exception as error:  # noqa: BLE001 - a failing bot hands over instead of going silent
        telemetry.log("bot.failed", level=logging.ERROR, error=error, conversation_id=visit.conversation_id)
        state, effects = visit.state, [Reply(flow.failure_text), HandedOff("the bot failed")]
    content, answers = _heard(flow, visit.state, said.text)
    user = NewMessage(role="user", content=content, answers=answers, client_message_id=client_message_id)
    silent = [one for one in greeting if not isinstance(one, Reply)]
    return await write_turn(visit, flow, state, [*silent, *effects], [*_messages(greeting), user])


async def write_turn(
    visit: VisitorSession, flow: Flow, state: State, effects: Sequence[Effect], first: Sequence[NewMessage]
) -> list[StoredMessage]:
    """Write a turn down: its messages, its lead, where the flow is now, and whether it is over. Raises as `act`."""
    workspace, conversation_id = visit.workspace, visit.conversation_id
    spoken = await conversations.add_messages(workspace, conversation_id, [*first, *_messages(effects)])
    await capture.save_answers(visit, flow, state, effects)
    await db.rows("UPDATE visit SET state = $2 WHERE conversation_id = $1", conversation_id, encode_state(state))
    for effect in effects:
        if isinstance(effect, HandedOff):
            await conversations.hand_off(workspace, conversation_id, effect.reason)
            spoken += await offline.replies(visit, flow)
        elif isinstance(effect, Ended):
            await conversations.end(workspace, conversation_id, "bot", effect.reason)
    return spoken


async def locked(visit: VisitorSession) -> VisitorSession:
    """The visit as it is now, nobody else's until the transaction ends. Raises Conflict when it is gone."""
    return await present(visit, lock=True)


async def present(visit: VisitorSession, *, lock: bool = False) -> VisitorSession:
    """The visit as it is now. Raises Conflict when it is gone."""
    now = await reads.visit_of(visit.workspace, visit.conversation_id, lock=lock)
    if now is None:
        raise refusals.ended()
    return now


async def answer(visit: VisitorSession, spoken: list[StoredMessage], token: str | None = None) -> Turn:
    """What the visitor gets: what was said, and how the conversation stands now. Raises Conflict when it is gone."""
    now = await present(visit)
    return Turn(now.conversation_id, now.status, spoken, await prompt(now), token)


async def prompt(visit: VisitorSession) -> Prompt | None:
    """What the visitor is asked for; nothing unless it is the bot that listens."""
    if visit.status != "active":
        return None
    return engine.prompt(await reads.flow(visit.workspace, visit.bot_id, visit.version), visit.state)


def _heard(flow: Flow, state: State, text: str) -> tuple[str, str | None]:
    """What is stored of the visitor's words: an option's label for the option; and which lead field they tell."""
    node = flow.node(state.at) if state.at else None
    if not isinstance(node, Ask):
        return text, None
    if node.input == "choice":
        with contextlib.suppress(ValueError):
            text = inputs.option(node, text).label
    return text, node.save_to or node.id


def _messages(effects: Sequence[Effect]) -> list[NewMessage]:
    """What the bot says. Words that repeat the visitor's own are redacted with the lead as theirs are."""
    return [
        NewMessage(role="bot", content=one.text, answers="repeated" if one.personal else None)
        for one in effects
        if isinstance(one, Reply)
    ]


def encode_state(state: State) -> str:
    """The state without the variables: those are the conversation's, where an erasure finds them."""
    return msgspec.json.encode(msgspec.structs.replace(state, variables={})).decode()
