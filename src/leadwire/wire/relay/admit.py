"""Deliveries that are due and have room in their endpoint's window go from `waiting` to `queued`, in one statement."""

from typing import Final

from leadwire import db
from leadwire.wire.streams import Key

BATCH: Final = 1000  # deliveries

# `due` leaps from endpoint to endpoint along the partial index, so what it costs depends on how many endpoints have
# something waiting, not on how much a dead one has piled up.
_ADMIT: Final = """
WITH RECURSIVE due(endpoint_id) AS (
    (SELECT endpoint_id FROM delivery WHERE state = 'waiting' ORDER BY endpoint_id LIMIT 1)
    UNION ALL
    SELECT (SELECT endpoint_id FROM delivery WHERE state = 'waiting' AND endpoint_id > due.endpoint_id
            ORDER BY endpoint_id LIMIT 1)
    FROM due WHERE due.endpoint_id IS NOT NULL
), room AS (
    SELECT e.id, greatest(0, e.admission_window - (SELECT count(*) FROM delivery d
        WHERE d.endpoint_id = e.id AND d.state = 'queued')) AS free
    FROM due JOIN webhook_endpoint e ON e.id = due.endpoint_id AND e.enabled
), picked AS (
    (SELECT p.event_id, p.endpoint_id FROM room CROSS JOIN LATERAL (
        SELECT d.event_id, d.endpoint_id FROM delivery d
        WHERE d.endpoint_id = room.id AND d.state = 'waiting' AND d.due_at <= now()
        ORDER BY d.due_at, d.event_id LIMIT room.free FOR UPDATE SKIP LOCKED
    ) p LIMIT $1)
    UNION
    (SELECT d.event_id, d.endpoint_id FROM delivery d WHERE d.state = 'waiting' AND d.test LIMIT $1)
)
UPDATE delivery d SET state = 'queued', queued_at = now() FROM picked
WHERE d.event_id = picked.event_id AND d.endpoint_id = picked.endpoint_id AND d.state = 'waiting'
RETURNING d.event_id, d.endpoint_id, d.attempts"""


async def admit(limit: int = BATCH) -> list[Key]:
    """Queue what is due; answers the keys to put into the streams once this has committed."""
    return [Key(*row) for row in await db.rows(_ADMIT, limit)]
