"""Deliveries that kill or wedge whichever worker takes them are set aside, where only an operator lets them out.

They are no dead letters: the receiver has done nothing wrong. Until released they wait, due never.
"""

from collections.abc import Sequence
from typing import Final

from leadwire.delivery.streams import Entry
from leadwire.infrastructure import db

_SET_ASIDE: Final = """
UPDATE delivery d SET state = 'waiting', due_at = 'infinity', queued_at = NULL, set_aside_at = now()
FROM unnest($1::text[], $2::text[], $3::smallint[]) AS asked(event_id, endpoint_id, attempts)
WHERE d.event_id = asked.event_id AND d.endpoint_id = asked.endpoint_id AND d.attempts = asked.attempts
  AND d.state = 'queued'
RETURNING d.event_id, d.endpoint_id"""

_RELEASE: Final = """
UPDATE delivery SET due_at = now(), set_aside_at = NULL
WHERE set_aside_at IS NOT NULL AND ($1::text IS NULL OR event_id = $1) RETURNING 1"""


async def set_aside(entries: Sequence[Entry]) -> list[tuple[str, str]]:
    """Take the deliveries of `entries` out of the way; answers their events and endpoints."""
    columns = (list(column) for column in zip(*(entry.key for entry in entries), strict=True))
    return [(row["event_id"], row["endpoint_id"]) for row in await db.rows(_SET_ASIDE, *columns)]


async def release(event_id: str | None = None) -> int:
    """Let what was set aside be tried again, of one event or all; answers how many it are."""
    return len(await db.rows(_RELEASE, event_id))


async def listed() -> list[tuple[str, str, str]]:
    """Event, endpoint and kind of each, the oldest first."""
    found = await db.rows(
        """SELECT d.event_id, d.endpoint_id, v.kind FROM delivery d JOIN outbox_event v ON v.id = d.event_id
           WHERE d.set_aside_at IS NOT NULL ORDER BY d.set_aside_at, d.event_id"""
    )
    return [tuple(row) for row in found]
