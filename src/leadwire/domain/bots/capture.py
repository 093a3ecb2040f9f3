"""What a visitor's turn means for the lead: a new one, more about the one they are, or a hint at one we know."""

from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from typing import Any

from leadwire.domain.bots.engine import Effect, Saved, Scored, State
from leadwire.domain.bots.flow import Ask, Flow, Scalar
from leadwire.domain.bots.schema import VisitorSession
from leadwire.domain.conversations import changes as conversations
from leadwire.domain.leads import changes as leads
from leadwire.domain.leads import reads
from leadwire.domain.leads.schema import Lead, LeadPatch, Source, custom_fields, fitting
from leadwire.infrastructure import clock, db
from leadwire.infrastructure.errors import Conflict, NotFound, Unavailable

_CUSTOM = "custom_fields."


class ConcurrentUpdate(Exception):
    """Somebody else changed the conversation or its lead meanwhile: begin again."""


async def save_answers(visit: VisitorSession, flow: Flow, state: State, effects: Sequence[Effect]) -> None:
    """Write down what this turn told, inside its transaction.

    A lead of this very conversation is corrected by its later answers and gains its points. A lead that was known
    before only gets its blanks filled and its score raised: a stranger may have typed somebody's address. Raises Moved.
    """
    told = {one.field: one.value for one in effects if isinstance(one, Saved) and one.field}
    points = [one for one in effects if isinstance(one, Scored)]
    await _note_points(visit, points)
    lead_id = None
    with _moved():
        own = visit.lead_id is not None and (told or points) and await _tell_own(visit, told, points)
        if (told or points) and not own:
            lead_id = await _capture(visit, _told(flow, state), state.score)
    await conversations.note_visitor(
        visit.workspace,
        visit.conversation_id,
        variables=state.variables,
        lead_id=lead_id,
        email=_text(told.get("email")),
        name=_text(told.get("name")),
    )


async def save_email(visit: VisitorSession, flow: Flow, email: str) -> None:
    """Take down an address that was given while waiting for a person. Raises Moved."""
    told: dict[str, Scalar] = {"email": email}
    with _moved():
        own = visit.lead_id is not None and await _tell_own(visit, told, [])
        lead_id = None if own else await _capture(visit, {**_told(flow, visit.state), **told}, visit.state.score)
    await conversations.note_visitor(
        visit.workspace,
        visit.conversation_id,
        variables=visit.state.variables,
        lead_id=lead_id,
        email=email,
        name=None,
    )


@contextmanager
def _moved() -> Iterator[None]:
    try:
        yield
    except (NotFound, Conflict, Unavailable) as error:  # the lead was erased, or its address taken, a moment ago
        raise ConcurrentUpdate from error


async def _tell_own(visit: VisitorSession, told: dict[str, Scalar], points: list[Scored]) -> bool:
    """Correct the lead this conversation has produced. Answers False when it is not its own, or becomes another's."""
    assert visit.lead_id is not None  # noqa: S101 - asked before
    lead = (await reads.stored(visit.workspace, visit.lead_id, lock=True)).lead
    if lead.conversation_id != visit.conversation_id:
        return False
    email = _text(told.get("email"))
    if email and await reads.holder_of_email(visit.workspace, lead.id, email) not in (None, lead.id):
        return False
    patch = _patch(told, lead.score + sum(one.points for one in points), lead)
    await leads.update(visit.workspace, lead.id, patch, unchanged={})
    return True


def _told(flow: Flow, state: State) -> dict[str, Scalar]:
    """Everything that this visitor has said of themselves, by field."""
    asks = {node.variable: node.save_to for node in flow.nodes if isinstance(node, Ask) and node.save_to}
    return {field: state.variables[name] for name, field in asks.items() if name in state.variables}


async def _capture(visit: VisitorSession, told: dict[str, Scalar], score: int) -> str | None:
    """Take the visitor down, from everything they have told, once there is a way to reach them."""
    if not told.keys() & {"email", "phone"}:
        return None
    patch = _patch(told, score)
    found = await db.row(
        """SELECT source_url, source_campaign, source_referrer FROM conversation
           WHERE workspace_id = $1 AND id = $2""",
        visit.workspace, visit.conversation_id,
    )  # fmt: skip
    lead = await leads.capture(visit.workspace, visit.bot_id, visit.conversation_id, patch, Source(*(found or ())))
    return lead.id


async def _note_points(visit: VisitorSession, points: list[Scored]) -> None:
    if points:
        await db.rows(
            """INSERT INTO score_entry (node, label, points, conversation_id, workspace_id, created_at)
               SELECT *, $4, $5, $6 FROM unnest($1::text[], $2::text[], $3::int[]) ON CONFLICT DO NOTHING""",
            [one.node for one in points], [one.label for one in points], [one.points for one in points],
            visit.conversation_id, visit.workspace, clock.now(),
        )  # fmt: skip


def _patch(told: dict[str, Scalar], score: int, lead: Lead | None = None) -> LeadPatch:
    """The change of `lead`, or of a new one. Custom fields beyond what a lead may have are left out."""
    plain: dict[str, Any] = {field: value for field, value in told.items() if not field.startswith(_CUSTOM)}
    # Strings only, as the specification shows: clients may type custom_fields so.
    custom = {field.removeprefix(_CUSTOM): str(value) for field, value in told.items() if field.startswith(_CUSTOM)}
    if custom:
        present = custom_fields(lead) if lead else {}
        fields = fitting(present, custom)
        plain["custom_fields"] = {key: fields[key] for key in custom if key in fields}
    return LeadPatch(**plain, score=max(0, min(100, score)))


def _text(value: Scalar | None) -> str | None:
    return value if isinstance(value, str) else None
