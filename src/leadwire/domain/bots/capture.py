"""What a visitor's turn means for the lead: a new one, more about the one they are, or a hint at one we know."""

from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from typing import Any, Final

from leadwire.domain.bots.changes import visitor_sessions
from leadwire.domain.bots.engine import Effect, Saved, Scored, State
from leadwire.domain.bots.flow import Ask, Flow, Scalar
from leadwire.domain.bots.schema import VisitorSession
from leadwire.domain.conversations import changes as conversations
from leadwire.domain.conversations.schema import Visitor
from leadwire.domain.leads import changes as leads
from leadwire.domain.leads import reads
from leadwire.domain.leads.schema import Lead, LeadPatch, custom_fields, fitting
from leadwire.infrastructure.errors import Conflict, NotFound, Unavailable

_CUSTOM: Final = "custom_fields."


class ConcurrentUpdate(Exception):
    """Somebody else changed the conversation or its lead meanwhile: begin again."""


async def save_answers(session: VisitorSession, flow: Flow, state: State, effects: Sequence[Effect]) -> None:
    """Save the answers and points of a turn, inside its transaction.

    A lead of this very conversation is corrected by its later answers and gains its points. A lead that was known
    before only gets its blanks filled and its score raised: a stranger may have typed somebody's address. Raise
    ConcurrentUpdate.
    """
    answers = {one.field: one.value for one in effects if isinstance(one, Saved) and one.field}
    scored = [one for one in effects if isinstance(one, Scored)]
    await visitor_sessions.add_scores(session, scored)
    with _as_concurrent_update():
        own = session.lead_id is not None and (answers or scored) and await _update_own(session, answers, scored)
        if (answers or scored) and not own:
            await _capture(session, _all_answers(flow, state), state.score)
    visitor = Visitor(_text(answers.get("email")), _text(answers.get("name")))
    await conversations.update_visitor(*session.place, state.variables, visitor)


async def save_email(session: VisitorSession, flow: Flow, email: str) -> None:
    """Save an address that was given while waiting for a person. Raise ConcurrentUpdate."""
    answers: dict[str, Scalar] = {"email": email}
    state = session.state
    with _as_concurrent_update():
        if session.lead_id is None or not await _update_own(session, answers, []):
            await _capture(session, {**_all_answers(flow, state), **answers}, state.score)
    await conversations.update_visitor(*session.place, state.variables, Visitor(email, None))


@contextmanager
def _as_concurrent_update() -> Iterator[None]:
    try:
        yield
    except (NotFound, Conflict, Unavailable) as error:  # the lead was erased, or its address taken, a moment ago
        raise ConcurrentUpdate from error


async def _update_own(session: VisitorSession, answers: dict[str, Scalar], scored: list[Scored]) -> bool:
    """Correct the lead of this conversation. Return False when it came from another, or the address is another's."""
    assert session.lead_id is not None  # noqa: S101 - asked before
    lead = (await reads.stored(session.workspace, session.lead_id, lock=True)).lead
    if lead.conversation_id != session.conversation_id:
        return False
    email = _text(answers.get("email"))
    if email and await reads.holder_of_email(session.workspace, lead.id, email) not in (None, lead.id):
        return False
    patch = _patch(answers, lead.score + sum(one.points for one in scored), lead)
    await leads.update(session.workspace, lead.id, patch, unchanged={})
    return True


def _all_answers(flow: Flow, state: State) -> dict[str, Scalar]:
    """Everything that the visitor has answered so far, by lead field."""
    asks = {node.variable: node.save_to for node in flow.nodes if isinstance(node, Ask) and node.save_to}
    return {field: state.variables[name] for name, field in asks.items() if name in state.variables}


async def _capture(session: VisitorSession, answers: dict[str, Scalar], score: int) -> None:
    """Make the visitor a lead once there is a way to reach them."""
    if answers.keys() & {"email", "phone"}:
        await conversations.capture_lead(*session.place, _patch(answers, score))


def _patch(answers: dict[str, Scalar], score: int, lead: Lead | None = None) -> LeadPatch:
    """The change of `lead`, or of a new one. Custom fields beyond what a lead may have are left out."""
    plain: dict[str, Any] = {field: value for field, value in answers.items() if not field.startswith(_CUSTOM)}
    # Strings only, as the specification shows: clients may type custom_fields so.
    custom = {field.removeprefix(_CUSTOM): str(value) for field, value in answers.items() if field.startswith(_CUSTOM)}
    if custom:
        present = custom_fields(lead) if lead else {}
        fields = fitting(present, custom)
        plain["custom_fields"] = {key: fields[key] for key in custom if key in fields}
    return LeadPatch(**plain, score=max(0, min(100, score)))


def _text(value: Scalar | None) -> str | None:
    return value if isinstance(value, str) else None
