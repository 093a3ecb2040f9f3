"""Deliveries that are due and may be sent now go from `waiting` to `queued`, in one statement.

This is where an endpoint's window, rate and order are kept. None of them costs a retry: what has to wait stays
`waiting`.
"""

from typing import Final

from leadwire.delivery.streams import Key
from leadwire.infrastructure.db.statements import sql

BATCH: Final = 1000  # deliveries

# Queue what is due and may be sent. `due` leaps from endpoint to endpoint along the partial index, 200 deliveries or
# more at a time: what it costs depends on how many endpoints have something due, not on how much waits for a
# dead one, and little on what is not due yet.
# A rate is a bucket of one second's tokens on the endpoint's row, which one relay at a time holds. In an order, a
# delivery may go when all events before it have been fanned out (`frontier`) and none of its subject is unfinished
# before it. The bounds on the event id in the UPDATE keep it from reading all that waits.
_ADMIT: Final = sql("""
WITH RECURSIVE leap(endpoints) AS (
    SELECT ARRAY['' COLLATE "C"]
    UNION ALL
    SELECT (SELECT array_agg(DISTINCT endpoint_id) FROM (SELECT endpoint_id FROM delivery
        WHERE state = 'waiting' AND due_at <= now() AND endpoint_id > leap.endpoints[cardinality(leap.endpoints)]
        ORDER BY endpoint_id LIMIT 200) next)
    FROM leap WHERE leap.endpoints IS NOT NULL
), due AS (
    SELECT unnest(endpoints) AS endpoint_id FROM leap
), bucket AS (
    SELECT e.id, least(greatest(1.0, e.rate_limit / 60.0), coalesce(e.rate_tokens
        + extract(epoch FROM now() - e.rate_at)::float8 * e.rate_limit / 60.0, 'infinity')) AS tokens
    FROM webhook_endpoint e WHERE e.rate_limit IS NOT NULL AND e.enabled AND e.id IN (SELECT endpoint_id FROM due)
    FOR NO KEY UPDATE OF e SKIP LOCKED
), room AS (
    SELECT e.id, greatest(0, least(
        e.admission_window - (SELECT count(*) FROM delivery d WHERE d.endpoint_id = e.id AND d.state = 'queued'),
        CASE WHEN e.rate_limit IS NULL THEN e.admission_window ELSE coalesce(floor(bucket.tokens), 0) END)) AS free,
        coalesce((SELECT v.position FROM outbox_event v WHERE e.ordered AND v.workspace_id = e.workspace_id
            AND v.relayed_at IS NULL ORDER BY v.position LIMIT 1), 9223372036854775807) AS frontier
    FROM due JOIN webhook_endpoint e ON e.id = due.endpoint_id AND e.enabled LEFT JOIN bucket ON bucket.id = e.id
), picked AS (
    (SELECT p.event_id, p.endpoint_id FROM room CROSS JOIN LATERAL (
        SELECT d.event_id, d.endpoint_id FROM delivery d
        WHERE d.endpoint_id = room.id AND d.state = 'waiting' AND d.due_at <= now() AND (
            d.subject IS NULL OR d.position < room.frontier AND NOT EXISTS (
                SELECT 1 FROM delivery before WHERE before.endpoint_id = d.endpoint_id AND before.subject = d.subject
                  AND before.position < d.position AND before.state IN ('waiting', 'queued')))
        ORDER BY d.due_at, d.event_id LIMIT room.free FOR UPDATE SKIP LOCKED
    ) p LIMIT :limit)
    UNION
    (SELECT d.event_id, d.endpoint_id FROM delivery d WHERE d.state = 'waiting' AND d.test AND d.due_at <= now()
     LIMIT :limit)
), spent AS (
    UPDATE webhook_endpoint e SET rate_tokens = bucket.tokens - taken.count, rate_at = now()
    FROM bucket JOIN (SELECT endpoint_id, count(*) FROM picked GROUP BY endpoint_id) taken
      ON taken.endpoint_id = bucket.id
    WHERE e.id = bucket.id
)
UPDATE delivery d SET state = 'queued', queued_at = now() FROM picked
WHERE d.event_id = picked.event_id AND d.endpoint_id = picked.endpoint_id AND d.state = 'waiting'
  AND d.event_id = ANY(ARRAY(SELECT event_id FROM picked))
  AND d.event_id BETWEEN (SELECT min(event_id) FROM picked) AND (SELECT max(event_id) FROM picked)
RETURNING d.event_id, d.endpoint_id, d.attempts""")


async def admit(limit: int = BATCH) -> list[Key]:
    """Queue what is due. Return the keys to put into the streams once this has committed."""
    return [Key(*row) for row in await _ADMIT.rows(limit=limit)]
