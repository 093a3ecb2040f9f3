"""What visitors consent to, which their turn records: withdrawn by whoever they told, and kept."""

from collections.abc import Sequence

from leadwire.infrastructure import clock, ids
from leadwire.infrastructure.db.statements import named
from leadwire.infrastructure.errors import NotFound

_KEEP, _WITHDRAW = named(__file__, "keep withdraw")


async def keep(workspace: str, conversation_ids: Sequence[str]) -> None:
    """Let the consents of leads outlive the conversations that they were given in, which are about to be deleted."""
    await _KEEP.rows(workspace=workspace, conversation_ids=conversation_ids)


async def withdraw(workspace: str, lead_id: str, consent_id: str, user_id: str) -> None:
    """Record that a lead has withdrawn a consent. Raise NotFound, also when it is withdrawn already."""
    missing = NotFound("There is no such consent of this person, or it is withdrawn.")
    values = {"new": ids.new("cons"), "user": user_id, "now": clock.now()}
    await _WITHDRAW.one(missing, workspace=workspace, lead=lead_id, id=consent_id, **values)
