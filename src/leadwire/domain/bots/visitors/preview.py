"""A trial conversation with a flow, stored nowhere: no rows, no events, no lead."""

from collections.abc import Sequence

from msgspec import Struct

from leadwire.domain.bots import engine
from leadwire.domain.bots.engine import Consented, Effect, Ended, HandedOff, Reply, Saved, Scored
from leadwire.domain.bots.flow.inputs import option
from leadwire.domain.bots.flow.nodes import Ask, Flow
from leadwire.domain.bots.schema import Turn, VisitorSession
from leadwire.domain.bots.visitors import runtime
from leadwire.domain.bots.visitors.faq import Answerer, Question
from leadwire.domain.conversations.schema import Role, Status, StoredMessage
from leadwire.infrastructure import clock

MOST_LINES = 100


class Preview(Struct, frozen=True):
    """The conversation so far."""

    turn: Turn
    """What the widget gets, with every message from the first."""
    notes: list[str]
    """What would have happened besides."""


async def run(
    workspace: str, bot_id: str, flow: Flow, messages: Sequence[str], answerer: Answerer, *, person: bool = False
) -> Preview:
    """Run the flow from its start through the visitor's messages; with `person`, they ask for one then."""
    state, effects = engine.begin(flow)
    said, all_effects = _replies(effects), list(effects)
    for text in messages[:MOST_LINES]:
        asked = flow.node(state.at) if state.at else None
        chosen = option(asked, text) if isinstance(asked, Ask) else None
        said.append(("user", chosen.label if chosen else text))
        if _status(all_effects) != "active":
            continue  # a person would answer
        is_question = engine.questions(flow, state, text)
        answer = await answerer(Question(workspace, bot_id, text, state.asked)) if is_question else None
        state, effects = engine.step(flow, state, text, answer)
        said += _replies(effects)
        all_effects += effects
    if person and _status(all_effects) == "active":
        state, effects = engine.ask_for_person(flow, state)
        said += _replies(effects)
        all_effects += effects
    session = VisitorSession(workspace, "trial", bot_id, flow, _status(all_effects), state, None)
    at = clock.iso(clock.now())
    stored = [StoredMessage(f"msg_{seq}", role, text, at, seq) for seq, (role, text) in enumerate(said, 1)]
    return Preview(runtime.turn_of(session, stored), [note for effect in all_effects if (note := _note(effect))])


def _replies(effects: Sequence[Effect]) -> list[tuple[Role, str]]:
    return [("bot", effect.text) for effect in effects if isinstance(effect, Reply)]


def _status(effects: Sequence[Effect]) -> Status:
    last = next((one for one in reversed(effects) if isinstance(one, HandedOff | Ended)), None)
    return "active" if last is None else "handoff" if isinstance(last, HandedOff) else "ended"


def _note(effect: Effect) -> str:
    match effect:
        case Reply():
            return ""
        case Saved():
            return f"Saves {effect.field or 'for the flow'}: {effect.value}"
        case Scored():
            return f"{effect.points:+d} points: {effect.label}"
        case Consented():
            return f"Records {'consent' if effect.given else 'that consent is refused'}: {effect.text}"
        case HandedOff():
            return f"Asks for a person: {effect.reason}"
        case Ended():
            return f"Ends: {effect.reason}"
