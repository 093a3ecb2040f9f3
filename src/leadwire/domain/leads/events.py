"""The events of leads."""

from typing import Any

from msgspec import structs

from leadwire.delivery.outbox import Event
from leadwire.domain.leads.schema import Lead, LeadDeleted, LeadUpdated
from leadwire.infrastructure import clock


def changed(workspace: str, lead: Lead, previous: dict[str, Any]) -> Event:
    """A lead's data or score changed; `previous` has the old values."""
    data = LeadUpdated(**structs.asdict(lead), previous_attributes=previous)
    about = {"lead_id": lead.id, "conversation_id": lead.conversation_id}
    return Event(workspace=workspace, kind="lead.updated", at=clock.now(), data=data, **about)


def deleted(workspace: str, lead: Lead) -> Event:
    """A lead was erased. Carries only the id, and has no `lead_id` column, so that the erasure leaves it."""
    data = LeadDeleted(lead.id)
    return Event(workspace=workspace, kind="lead.deleted", at=clock.now(), data=data, subject=lead.conversation_id)
