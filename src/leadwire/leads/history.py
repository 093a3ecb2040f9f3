"""What happened to a lead, as far as its events are still kept."""

from typing import Any, Final

import msgspec
from msgspec import Struct

from leadwire import clock, db

_LATEST: Final = 100
# Materialized: where sorting is off, the planner would sooner read every event there is, in the order of their ids.
_EVENTS: Final = f"""
WITH about AS MATERIALIZED (
    SELECT id, kind, occurred_at, body FROM outbox_event WHERE workspace_id = $1 AND lead_id = $2
) SELECT * FROM about ORDER BY id DESC LIMIT {_LATEST}"""


class Change(Struct, frozen=True):
    """One attribute before and after."""

    name: str
    was: Any
    now: Any


class Happening(Struct, frozen=True):
    """One event about the lead; `changes` says what became different."""

    event_id: str
    kind: str
    at: str
    changes: list[Change]


async def of(workspace: str, lead_id: str) -> list[Happening]:
    """The latest events about a lead, newest first."""
    return [
        Happening(event_id, kind, clock.iso(at), _changes(body) if kind == "lead.updated" and body else [])
        for event_id, kind, at, body in await db.rows(_EVENTS, workspace, lead_id)
    ]


def _changes(body: str) -> list[Change]:
    data = msgspec.json.decode(body)["data"]
    previous = dict(data["previous_attributes"])
    fields = previous.pop("custom_fields", {})
    return [
        *(Change(name, was, data[name]) for name, was in previous.items()),
        *(Change(name, was, data["custom_fields"].get(name)) for name, was in fields.items()),
    ]
