"""Outbox rows become delivery rows, one per enabled and subscribed endpoint, in one statement."""

from typing import Final

from leadwire import db
from leadwire.wire.streams import Key

BATCH: Final = 500  # events

# The flag, not a cursor, says what is left: a transaction with a lower id may commit later. SKIP LOCKED lets relays
# share. An endpoint with a full window, or with a backlog of its own, gets its deliveries `waiting` behind it; so does
# one that wants order or has a rate, because `admit` keeps both. What follows a delivery that waits for its retry, in
# an order, is due no sooner. KEY SHARE makes deleting an endpoint wait for us, so that no delivery is left without one.
_FAN_OUT: Final = """
WITH batch AS (
    SELECT id, workspace_id, kind, subject, position, test_endpoint_id FROM outbox_event
    WHERE relayed_at IS NULL ORDER BY position LIMIT $1 FOR UPDATE SKIP LOCKED
), pair AS (
    SELECT batch.id AS event_id, e.id AS endpoint_id, e.workspace_id, e.admission_window,
        batch.test_endpoint_id IS NOT NULL AS test, e.ordered OR e.rate_limit IS NOT NULL AS governed,
        CASE WHEN e.ordered AND batch.test_endpoint_id IS NULL THEN batch.subject END AS subject, batch.position
    FROM batch JOIN webhook_endpoint e ON e.workspace_id = batch.workspace_id AND CASE
        WHEN batch.test_endpoint_id IS NULL THEN e.enabled AND batch.kind = ANY(e.events)
        ELSE e.id = batch.test_endpoint_id END
    FOR KEY SHARE OF e
), room AS (
    SELECT endpoint_id, CASE
        WHEN bool_or(governed) OR EXISTS (SELECT 1 FROM delivery d
            WHERE d.endpoint_id = p.endpoint_id AND d.state = 'waiting' AND d.due_at <= now()) THEN 0
        ELSE max(admission_window) - (SELECT count(*) FROM delivery d
            WHERE d.endpoint_id = p.endpoint_id AND d.state = 'queued') END AS free
    FROM pair p GROUP BY endpoint_id
), placed AS (
    SELECT pair.*, test OR row_number() OVER (PARTITION BY pair.endpoint_id ORDER BY position) <= free AS admitted
    FROM pair JOIN room USING (endpoint_id)
), made AS (
    INSERT INTO delivery (event_id, endpoint_id, workspace_id, state, test, subject, position, due_at, queued_at)
    SELECT event_id, endpoint_id, workspace_id, CASE WHEN admitted THEN 'queued' ELSE 'waiting' END, test,
        subject, CASE WHEN subject IS NOT NULL THEN position END,
        CASE WHEN subject IS NULL THEN now() ELSE greatest(now(), (
            SELECT first.due_at FROM delivery first WHERE first.endpoint_id = placed.endpoint_id
              AND first.subject = placed.subject AND first.state IN ('waiting', 'queued')
            ORDER BY first.position LIMIT 1)) END,
        CASE WHEN admitted THEN now() END
    FROM placed ON CONFLICT DO NOTHING
    RETURNING event_id, endpoint_id, state
), marked AS (
    UPDATE outbox_event SET relayed_at = now() FROM batch WHERE outbox_event.id = batch.id RETURNING 1
)
SELECT (SELECT count(*) FROM marked), event_id, endpoint_id, state FROM (SELECT) one LEFT JOIN made ON true"""


async def fan_out(limit: int = BATCH) -> tuple[int, list[Key], bool]:
    """Relay up to `limit` events.

    Answers how many there were, the keys to put into the streams once this has committed, and whether some
    deliveries had to stay behind.
    """
    found = await db.rows(_FAN_OUT, limit)
    made = [row for row in found if row["state"] is not None]
    keys = [Key(row["event_id"], row["endpoint_id"], 0) for row in made if row["state"] == "queued"]
    return found[0][0], keys, len(keys) < len(made)
