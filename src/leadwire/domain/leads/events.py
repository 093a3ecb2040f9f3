"""Which payload each lead event carries."""

from typing import Any

import msgspec

from leadwire.delivery.envelope import EventKind
from leadwire.delivery.outbox import Event
from leadwire.domain.leads.schema import Lead, LeadDeleted, LeadUpdated
from leadwire.infrastructure import clock


def created(workspace: str, lead: Lead) -> Event:
    """A new lead was captured."""
    return _event(workspace, "lead.created", lead, lead)


def updated(workspace: str, lead: Lead, previous: dict[str, Any]) -> Event:
    """A lead's data or score changed; `previous` has the old values."""
    data = LeadUpdated(**msgspec.structs.asdict(lead), previous_attributes=previous)
    return _event(workspace, "lead.updated", lead, data)


def deleted(workspace: str, lead: Lead) -> Event:
    """A lead was erased. Carries only the id, and has no `lead_id` column, so that the erasure leaves it."""
    data = LeadDeleted(lead.id)
    return Event(workspace=workspace, kind="lead.deleted", at=clock.now(), data=data, subject=lead.conversation_id)


def _event(workspace: str, kind: EventKind, lead: Lead, data: object) -> Event:
    place = lead.conversation_id
    return Event(workspace=workspace, kind=kind, at=clock.now(), data=data, lead_id=lead.id, conversation_id=place)
