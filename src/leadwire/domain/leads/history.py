"""What happened to a lead: its latest events, with who made them and what became different."""

from typing import Any

import msgspec
from msgspec import Struct

from leadwire.delivery.feed import StoredEvent, about, readdressed
from leadwire.infrastructure import clock


class LeadEvent(Struct, frozen=True):
    """One event about the lead; `changes` has `name`, `was` and `now` of each attribute that became different. `actor`
    is a user's id, an API key's, or `visitor`, if it is known.
    """

    event_id: str
    kind: str
    at: str
    changes: list[dict[str, Any]]
    actor: str | None


async def of(workspace: str, lead_id: str) -> list[LeadEvent]:
    """Return the latest events about a lead that are still kept, newest first."""
    return [
        LeadEvent(row.id, row.kind, clock.iso(row.at), _changes(row) if row.kind == "lead.updated" else [], row.actor)
        for row in await about(workspace, "lead_id", lead_id)
    ]


async def ways(workspace: str, lead_id: str) -> list[str]:
    """The e-mail addresses and phone numbers that a lead had before, as far as its events are kept."""
    bodies = await readdressed(workspace, lead_id)
    previous = [msgspec.json.decode(body)["data"]["previous_attributes"] for body in bodies]
    return [was for each in previous for name in ("email", "phone") if (was := each.get(name))]


def _changes(event: StoredEvent) -> list[dict[str, Any]]:
    if not event.body:
        return []
    data = msgspec.json.decode(event.body)["data"]
    previous = dict(data["previous_attributes"])
    fields = previous.pop("custom_fields", {})
    return [
        *({"name": name, "was": was, "now": data[name]} for name, was in previous.items()),
        *({"name": name, "was": was, "now": data["custom_fields"].get(name)} for name, was in fields.items()),
    ]
