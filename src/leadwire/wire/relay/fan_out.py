"""Outbox rows become delivery rows, one per enabled and subscribed endpoint, in one statement."""

from typing import Final, NamedTuple

from leadwire import db
from leadwire.wire import metrics
from leadwire.wire.streams import Key

BATCH: Final = 500  # events of one workspace
SHARE: Final = 100  # events of each workspace while others have some too
_WORKSPACES: Final = 20  # a batch

# The flag, not a cursor, says what is left: a transaction with a lower id may commit later. SKIP LOCKED lets relays
# share. A batch leaps from workspace to workspace, so that an import of one is no wait for the others. An endpoint with
# a full window, or with a backlog of its own, gets its deliveries `waiting` behind it; so does one that wants order or
# has a rate, because `admit` keeps both. What follows a delivery that waits for its retry, in an order, is due no
# sooner. KEY SHARE makes deleting an endpoint wait for us, so that no delivery is left without one. now() is of the
# statement's begin: an event that was committed while it was planned is younger.
_FAN_OUT: Final = """
WITH RECURSIVE busy(workspace_id, place) AS (
    (SELECT workspace_id, 1 FROM outbox_event WHERE relayed_at IS NULL AND workspace_id > $1
     ORDER BY workspace_id LIMIT 1)
    UNION ALL
    SELECT (SELECT v.workspace_id FROM outbox_event v WHERE v.relayed_at IS NULL AND v.workspace_id > busy.workspace_id
            ORDER BY v.workspace_id LIMIT 1), place + 1
    FROM busy WHERE busy.workspace_id IS NOT NULL AND place < $2
), batch AS (
    SELECT own.* FROM busy CROSS JOIN LATERAL (
        SELECT id, workspace_id, kind, subject, position, test_endpoint_id FROM outbox_event v
        WHERE v.workspace_id = busy.workspace_id AND v.relayed_at IS NULL ORDER BY v.position
        LIMIT (SELECT greatest($4, $3 / greatest(count(workspace_id), 1)) FROM busy) FOR UPDATE SKIP LOCKED
    ) own
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
    UPDATE outbox_event SET relayed_at = greatest(now(), recorded_at) FROM batch WHERE outbox_event.id = batch.id
    RETURNING extract(epoch FROM clock_timestamp() - recorded_at)::float8 AS age
)
SELECT (SELECT coalesce(array_agg(age), '{}') FROM marked), (SELECT workspace_id FROM busy WHERE place = $2),
    NULL AS event_id, NULL AS endpoint_id, NULL AS state
UNION ALL SELECT NULL, NULL, event_id, endpoint_id, state FROM made"""


class Fanned(NamedTuple):
    """How many events were relayed, the keys to put into the streams once this has committed, and whether some
    deliveries had to stay behind. `after` is where the next batch begins, '' for the first workspace.
    """

    events: int
    keys: list[Key]
    held_back: bool
    after: str


async def fan_out(after: str = "", limit: int = BATCH) -> Fanned:
    """Relay a batch: the oldest events of each of the workspaces that follow `after` and have some."""
    (ages, last, *_), *made = await db.rows(_FAN_OUT, after, _WORKSPACES, limit, min(SHARE, limit))
    metrics.relayed(ages)
    keys = [Key(row["event_id"], row["endpoint_id"], 0) for row in made if row["state"] == "queued"]
    return Fanned(len(ages), keys, len(keys) < len(made), last or "")
