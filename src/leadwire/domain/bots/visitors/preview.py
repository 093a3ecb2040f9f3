"""A trial conversation with a flow, stored nowhere: no rows, no events, no lead."""

import asyncio
from collections.abc import Sequence

from msgspec import Struct

from leadwire.domain.bots.flow import engine
from leadwire.domain.bots.flow.engine import Consented, Effect, Ended, HandedOff, Reply, Saved, Scored
from leadwire.domain.bots.flow.inputs import option
from leadwire.domain.bots.flow.nodes import Ask, Flow
from leadwire.domain.bots.schema import Turn, VisitorSession
from leadwire.domain.bots.visitors import runtime
from leadwire.domain.bots.visitors.faq import Answerer, Question
from leadwire.domain.conversations import plan as planning
from leadwire.domain.conversations.schema import Origin, Role, Status, StoredMessage
from leadwire.infrastructure import clock

MOST_LINES = 100


class Preview(Struct, frozen=True):
    """The conversation so far."""

    turn: Turn
    """What the widget gets, with every message from the first."""
    notes: list[str]
    """What would have happened besides."""
    at: str | None
    """The step that waits for the visitor, while the bot answers."""


async def run(
    workspace: str, bot_id: str, flow: Flow, messages: Sequence[str], answerer: Answerer, *, person: bool = False
) -> Preview:
    """Run the flow from its start through the visitor's messages; with `person`, they ask for one then."""
    state, effects = engine.begin(flow)
    steps: list[str | Effect] = [*effects]  # what the visitor says, and what follows
    for text in messages[:MOST_LINES]:
        await asyncio.sleep(0)  # a line of a large flow takes milliseconds: others have their turn in between
        question = engine.waiting(flow, state)
        chosen = option(question, text) if isinstance(question, Ask) else None
        steps.append(chosen.label if chosen else text)
        if _status(steps) == "active":  # else a person would answer
            is_question = engine.questions(flow, state, text)
            answer = await answerer(Question(workspace, bot_id, text, state.asked)) if is_question else None
            state, effects = engine.step(flow, state, text, answer)
            steps += effects
    if person and _status(steps) == "active":
        state, effects = engine.ask_for_person(flow, state)
        steps += effects
    known = planning.begin(workspace, bot_id, Origin()).known
    session = VisitorSession(workspace, "trial", bot_id, flow, _status(steps), state, None, known)
    at = clock.iso(clock.now())
    said: list[tuple[Role, str]] = [
        ("user", step) if isinstance(step, str) else ("bot", step.text)
        for step in steps
        if isinstance(step, str | Reply)
    ]
    stored = [StoredMessage(f"msg_{seq}", role, text, at, seq) for seq, (role, text) in enumerate(said, 1)]
    notes = [note for step in steps if (note := _note(step))]
    return Preview(runtime.turn_of(session, stored), notes, state.at if session.status == "active" else None)


def _status(steps: Sequence[str | Effect]) -> Status:
    last = next((step for step in reversed(steps) if isinstance(step, HandedOff | Ended)), None)
    return "active" if last is None else "handoff" if isinstance(last, HandedOff) else "ended"


def _note(step: str | Effect) -> str:
    match step:
        case str() | Reply():
            return ""
        case Saved():
            return f"Saves {(step.field or 'for the flow').removeprefix('custom_fields.')}: {step.value}"
        case Scored():
            return f"{step.points:+d} points: {step.label}"
        case Consented():
            return f"Records {'consent' if step.given else 'that consent is refused'}: {step.text}"
        case HandedOff():
            return f"Asks for a person: {step.reason}"
        case Ended():
            return f"Ends: {step.reason}"
