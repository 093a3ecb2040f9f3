"""A trial conversation with a flow, stored nowhere: no rows, no events, no lead."""

from collections.abc import Sequence

from msgspec import Struct

from leadwire.domain.bots import engine
from leadwire.domain.bots.engine import Consented, Ended, HandedOff, Prompt, Reply, Saved, Scored
from leadwire.domain.bots.faq import Answerer, Question
from leadwire.domain.bots.flow import Flow

MOST_LINES = 100


class Preview(Struct, frozen=True):
    """The conversation so far, and what the visitor is asked for now; None when it is over."""

    lines: list[tuple[str, str]]
    """`bot`, `user`, or `note` for what would have happened, and a text."""
    prompt: Prompt | None


async def run(workspace: str, bot_id: str, flow: Flow, messages: Sequence[str], answerer: Answerer) -> Preview:
    """Run the flow from its start through the visitor's messages."""
    state, effects = engine.begin(flow)
    lines = [_line(effect) for effect in effects]
    for text in messages[:MOST_LINES]:
        if _is_over(effects):
            break
        is_question = engine.questions(flow, state, text)
        answer = await answerer(Question(workspace, bot_id, text, state.asked)) if is_question else None
        state, effects = engine.step(flow, state, text, answer)
        lines += [("user", text), *(_line(effect) for effect in effects)]
    return Preview(lines, None if _is_over(effects) else engine.prompt(flow, state))


def _is_over(effects: Sequence[engine.Effect]) -> bool:
    return any(isinstance(effect, HandedOff | Ended) for effect in effects)


def _line(effect: engine.Effect) -> tuple[str, str]:
    match effect:
        case Reply():
            return "bot", effect.text
        case Saved():
            return "note", f"keeps {effect.field or 'for the flow'}: {effect.value}"
        case Scored():
            return "note", f"{effect.points:+d} points: {effect.label}"
        case Consented():
            return "note", f"records {'consent' if effect.given else 'that consent is refused'}: {effect.text}"
        case HandedOff():
            return "note", f"asks for a person: {effect.reason}"
        case Ended():
            return "note", f"ends: {effect.reason}"
