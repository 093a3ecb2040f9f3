"""Which payload each lead event carries."""

from typing import Any

import msgspec

from leadwire.delivery.outbox import Event
from leadwire.domain.leads.schema import Lead, LeadDeleted, LeadUpdated
from leadwire.infrastructure import clock


def created(workspace: str, lead: Lead) -> Event:
    """A new lead was captured."""
    return Event(
        workspace=workspace,
        kind="lead.created",
        at=clock.now(),
        data=lead,
        lead_id=lead.id,
        conversation_id=lead.conversation_id,
    )


def updated(workspace: str, lead: Lead, previous: dict[str, Any]) -> Event:
    """A lead's data or score changed; `previous` has the old values."""
    data = LeadUpdated(**msgspec.structs.asdict(lead), previous_attributes=previous)
    return Event(
        workspace=workspace,
        kind="lead.updated",
        at=clock.now(),
        data=data,
        lead_id=lead.id,
        conversation_id=lead.conversation_id,
    )


def deleted(workspace: str, lead: Lead) -> Event:
    """A lead was erased. Carries nothing but the id, and no `lead_id` column: it must survive the erasure."""
    return Event(
        workspace=workspace,
        kind="lead.deleted",
        at=clock.now(),
        data=LeadDeleted(lead.id),
        subject=lead.conversation_id,
    )
