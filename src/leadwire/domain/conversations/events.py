"""The events of conversations: those of a plan, recorded with its change, and the one that tells of deletions."""

from collections.abc import Mapping
from typing import Any

from leadwire.delivery import outbox
from leadwire.delivery.outbox import Event
from leadwire.domain.conversations.plan import Plan
from leadwire.infrastructure import clock
from leadwire.infrastructure.db.statements import Statement


async def record_plan(change: Statement, values: Mapping[str, Any], plan: Plan) -> bool:
    """Make a change and record the plan's events, as `outbox.record_all`."""
    about: dict[str, Any] = {"workspace": plan.known.workspace, "at": plan.at, "conversation_id": plan.id}
    events = [Event(kind=event.kind, data=event.data, lead_id=event.lead_id, **about) for event in plan.events]
    return await outbox.record_all(change, values, events)


def deleted(workspace: str) -> Event:
    """Conversations are no longer kept. Names none, and nobody is told."""
    return Event(workspace=workspace, kind="conversation.deleted", at=clock.now(), data={})
