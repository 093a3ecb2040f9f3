"""Outbox rows become delivery rows, one per enabled and subscribed endpoint, in one statement."""

from typing import Final, NamedTuple

from leadwire.delivery import metrics
from leadwire.delivery.streams import Key
from leadwire.infrastructure.db.statements import sql

BATCH: Final = 500  # events of one workspace
SHARE: Final = 100  # events of each workspace while others have some too
DELIVERIES: Final = 2000  # of a batch, unless the first event of each workspace alone makes more
_WORKSPACES: Final = 20  # a batch

# Take a batch of events, insert their deliveries, mark the events. The flag, not a cursor, says what is left: a
# transaction with a lower id may commit later. SKIP LOCKED lets relays share. A batch leaps from workspace to
# workspace, so that an import of one is no wait for the others, and takes fewer events where many endpoints may want
# each. An endpoint with a full window, or with a backlog of its own, gets its deliveries `waiting` behind it; so does
# one that wants order or has a rate, because `admit` keeps both. In an order, what follows a delivery that waits for
# its retry is due no sooner; behind one in quarantine it is due now, and `admit` holds it until that one is released.
# KEY SHARE makes deleting an endpoint wait for us, so that no delivery is left without one. Statistics lag behind a
# backlog, so nothing here may depend on them: the room is counted at each endpoint's first event instead of joined, and
# a backlog is seen by its first delivery, where EXISTS would choose to read whole tables. now() is of the statement's
# begin: an event that was committed while it was planned is younger.
_FAN_OUT: Final = sql("""
WITH RECURSIVE busy(workspace_id, place) AS (
    (SELECT workspace_id, 1 FROM outbox_event WHERE relayed_at IS NULL AND workspace_id > :after
     ORDER BY workspace_id LIMIT 1)
    UNION ALL
    SELECT (SELECT v.workspace_id FROM outbox_event v WHERE v.relayed_at IS NULL AND v.workspace_id > busy.workspace_id
            ORDER BY v.workspace_id LIMIT 1), place + 1
    FROM busy WHERE busy.workspace_id IS NOT NULL AND place < :workspaces
), batch AS (
    SELECT own.* FROM busy CROSS JOIN LATERAL (
        SELECT id, workspace_id, kind, subject, position, test_endpoint_id FROM outbox_event v
        WHERE v.workspace_id = busy.workspace_id AND v.relayed_at IS NULL ORDER BY v.position
        LIMIT (SELECT greatest(1, least(greatest(:share, :limit / all_busy.count),
            :deliveries / all_busy.count / greatest(1, (
            SELECT count(*) FROM webhook_endpoint e WHERE e.workspace_id = busy.workspace_id AND e.enabled))))
            FROM (SELECT greatest(1, count(workspace_id)) AS count FROM busy) all_busy) FOR UPDATE SKIP LOCKED
    ) own
), pair AS (
    SELECT batch.id AS event_id, e.id AS endpoint_id, e.workspace_id, e.admission_window,
        batch.test_endpoint_id IS NOT NULL AS test, e.ordered OR e.rate_limit IS NOT NULL AS governed,
        CASE WHEN e.ordered AND batch.test_endpoint_id IS NULL THEN batch.subject END AS subject, batch.position
    FROM batch JOIN webhook_endpoint e ON e.workspace_id = batch.workspace_id AND CASE
        WHEN batch.test_endpoint_id IS NULL THEN e.enabled AND batch.kind = ANY(e.events)
        ELSE e.id = batch.test_endpoint_id END
    FOR KEY SHARE OF e
), placed AS (
    SELECT pair.*, row_number() OVER (PARTITION BY endpoint_id ORDER BY position) AS place FROM pair
), room AS (
    SELECT p.*, CASE
        WHEN place > 1 THEN NULL
        WHEN governed OR (SELECT d.due_at FROM delivery d WHERE d.endpoint_id = p.endpoint_id AND d.state = 'waiting'
            ORDER BY d.due_at LIMIT 1) <= now() THEN 0
        ELSE admission_window - (SELECT count(*) FROM delivery d
            WHERE d.endpoint_id = p.endpoint_id AND d.state = 'queued') END AS free
    FROM placed p
), decided AS (
    SELECT room.*, test OR place <= max(free) OVER (PARTITION BY endpoint_id) AS admitted FROM room
), made AS (
    INSERT INTO delivery (event_id, endpoint_id, workspace_id, state, test, subject, position, due_at, queued_at)
    SELECT event_id, endpoint_id, workspace_id, CASE WHEN admitted THEN 'queued' ELSE 'waiting' END, test,
        subject, CASE WHEN subject IS NOT NULL THEN position END,
        CASE WHEN subject IS NULL THEN now() ELSE greatest(now(), (
            SELECT nullif(first.due_at, 'infinity') FROM delivery first WHERE first.endpoint_id = decided.endpoint_id
              AND first.subject = decided.subject AND first.state IN ('waiting', 'queued')
            ORDER BY first.position LIMIT 1)) END,
        CASE WHEN admitted THEN now() END
    FROM decided ON CONFLICT DO NOTHING
    RETURNING event_id, endpoint_id, state
), marked AS (
    UPDATE outbox_event SET relayed_at = greatest(now(), recorded_at) FROM batch WHERE outbox_event.id = batch.id
    RETURNING extract(epoch FROM clock_timestamp() - recorded_at)::float8 AS age
)
SELECT (SELECT coalesce(array_agg(age), '{}') FROM marked), (SELECT workspace_id FROM busy WHERE place = :workspaces),
    NULL AS event_id, NULL AS endpoint_id, NULL AS state
UNION ALL SELECT NULL, NULL, event_id, endpoint_id, state FROM made""")


class FanOut(NamedTuple):
    """How many events were relayed, the keys to put into the streams once this has committed, and whether some
    deliveries have to wait. `after` is where the next batch begins, '' for the first workspace.
    """

    events: int
    keys: list[Key]
    held_back: bool
    after: str


async def fan_out(after: str = "", limit: int = BATCH) -> FanOut:
    """Relay a batch: the oldest events of each of the workspaces that follow `after` and have some.

    `limit` is in events; `DELIVERIES` bounds it as well.
    """
    (ages, last, *_), *made = await _FAN_OUT.rows(
        after=after, workspaces=_WORKSPACES, limit=limit, share=min(SHARE, limit), deliveries=DELIVERIES
    )
    metrics.relayed(ages)
    keys = [Key(row["event_id"], row["endpoint_id"], 0) for row in made if row["state"] == "queued"]
    return FanOut(len(ages), keys, len(keys) < len(made), last or "")
