"""Deliveries that kill or block whichever worker takes them are set aside until an operator releases them.

They are no dead letters: the receiver has done nothing wrong. Until released they wait, due never.
"""

import functools
import logging
from collections.abc import Sequence
from typing import Final

from leadwire.delivery import metrics
from leadwire.delivery.endpoints import due
from leadwire.delivery.streams import Entry, Key, push
from leadwire.delivery.table import Delivery
from leadwire.delivery.worker.claim import ASKED, asked
from leadwire.infrastructure import db, telemetry
from leadwire.infrastructure.db.statements import if_given, sql, statement

# Let what the entries name wait for an operator.
_SET_ASIDE: Final = sql(f"""
UPDATE delivery d SET state = 'waiting', due_at = 'infinity', queued_at = NULL, owner = NULL, lease_until = NULL,
    set_aside_at = now()
FROM {ASKED}
WHERE d.event_id = asked.event_id AND d.endpoint_id = asked.endpoint_id AND d.attempts = asked.attempts
  AND d.state = 'queued'
RETURNING d.event_id, d.endpoint_id, d.workspace_id""")

# The endpoints of what is set aside.
_ENDPOINTS: Final = statement(
    Delivery.select(Delivery.endpoint_id).where(
        Delivery.set_aside_at.is_not_null(), if_given(Delivery.event_id, "event_id")
    )
)
# Queue what is set aside; what was redriven meanwhile and comes before it in an order is sent first.
_RELEASE: Final = sql("""
UPDATE delivery d SET set_aside_at = NULL, state = CASE WHEN behind THEN 'waiting' ELSE 'queued' END,
    due_at = CASE WHEN behind THEN d.due_at ELSE now() END, queued_at = CASE WHEN NOT behind THEN now() END
FROM (SELECT a.event_id, a.endpoint_id, EXISTS (SELECT 1 FROM delivery f WHERE f.endpoint_id = a.endpoint_id
        AND f.subject = a.subject AND f.position < a.position) AS behind
    FROM delivery a WHERE a.set_aside_at IS NOT NULL AND (:event_id::text IS NULL OR a.event_id = :event_id)) aside
WHERE d.event_id = aside.event_id AND d.endpoint_id = aside.endpoint_id AND d.set_aside_at IS NOT NULL
RETURNING d.event_id, d.endpoint_id, d.attempts, d.state""")

# What is set aside, with the kind of its event.
_LIST: Final = sql("""
SELECT d.event_id, d.endpoint_id, v.kind FROM delivery d JOIN event v ON v.id = d.event_id
WHERE d.set_aside_at IS NOT NULL ORDER BY d.set_aside_at, d.event_id""")


async def set_aside(entries: Sequence[Entry]) -> list[tuple[str, str]]:
    """Set the deliveries of `entries` aside. Return their events and endpoints."""
    rows = [dict(row) for row in await _SET_ASIDE.rows(**asked([entry.key for entry in entries]))]
    for names in rows:
        metrics.SET_ASIDE.inc()
        telemetry.log("delivery.set_aside", level=logging.ERROR, **names)
    return [(names["event_id"], names["endpoint_id"]) for names in rows]


async def release(event_id: str | None = None) -> int:
    """Let the deliveries that were set aside be tried again, of one event or all. Return how many there were."""
    async with db.transaction():
        await due.wake({row["endpoint_id"] for row in await _ENDPOINTS.rows(event_id=event_id)})
        rows = await _RELEASE.rows(event_id=event_id)
        keys = [Key(*key) for *key, state in rows if state == "queued"]
        db.after_commit(functools.partial(push.push, keys))
    return len(rows)


async def listed() -> list[tuple[str, str, str]]:
    """Return event, endpoint and kind of each, the oldest first."""
    return [tuple(row) for row in await _LIST.rows()]
