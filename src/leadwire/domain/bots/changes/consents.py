"""What visitors consent to: recorded in their turn, withdrawn by whoever they told."""

from collections.abc import Sequence

from leadwire.domain.bots.engine import Consented
from leadwire.domain.bots.schema import VisitorSession
from leadwire.infrastructure import clock, ids
from leadwire.infrastructure.db.statements import named
from leadwire.infrastructure.errors import NotFound

_ADD, _SET_LEAD, _KEEP, _WITHDRAW = named(__file__, "add set_lead keep withdraw")


async def record(session: VisitorSession, answers: Sequence[Consented], lead_id: str | None) -> None:
    """Record the consents of a turn, in its transaction, once its lead is stored."""
    place = {"workspace": session.workspace, "conversation": session.conversation_id}
    if answers:
        arrays = {name: [getattr(one, name) for one in answers] for name in Consented.__struct_fields__}
        await _ADD.rows(id=[ids.new("cons") for _ in answers], **arrays, **place, now=clock.now())
    if session.lead_id is None and lead_id is not None and session.flow.asks_consent:
        await _SET_LEAD.rows(**place)


async def keep(workspace: str, conversation_ids: Sequence[str]) -> None:
    """Let the consents of leads outlive the conversations that they were given in, which are about to be deleted."""
    await _KEEP.rows(workspace=workspace, conversation_ids=conversation_ids)


async def withdraw(workspace: str, lead_id: str, consent_id: str, user_id: str) -> None:
    """Record that a lead has withdrawn a consent. Raise NotFound, also when it is withdrawn already."""
    missing = NotFound("There is no such consent of this person, or it is withdrawn.")
    values = {"new": ids.new("cons"), "user": user_id, "now": clock.now()}
    await _WITHDRAW.one(missing, workspace=workspace, lead=lead_id, id=consent_id, **values)
