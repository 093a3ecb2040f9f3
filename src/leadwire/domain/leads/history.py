"""What happened to a lead, as far as its events are still kept."""

from typing import Any

import msgspec
from msgspec import Struct

from leadwire.delivery.events_about import about
from leadwire.infrastructure import clock


class Change(Struct, frozen=True):
    """One attribute before and after."""

    name: str
    was: Any
    now: Any


class LeadEvent(Struct, frozen=True):
    """One event about the lead; `changes` says what became different."""

    event_id: str
    kind: str
    at: str
    changes: list[Change]


async def of(workspace: str, lead_id: str) -> list[LeadEvent]:
    """The latest events about a lead, newest first."""
    return [
        LeadEvent(one.id, one.kind, clock.iso(one.at), _changes(one.body) if one.kind == "lead.updated" else [])
        for one in await about(workspace, "lead_id", lead_id)
    ]


def _changes(body: str) -> list[Change]:
    if not body:
        return []
    data = msgspec.json.decode(body)["data"]
    previous = dict(data["previous_attributes"])
    fields = previous.pop("custom_fields", {})
    return [
        *(Change(name, was, data[name]) for name, was in previous.items()),
        *(Change(name, was, data["custom_fields"].get(name)) for name, was in fields.items()),
    ]
