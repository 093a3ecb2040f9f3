"""Events that were left to the relay become deliveries, one per enabled and subscribed endpoint.

One workspace at a time, in a transaction that no other relay has for the same workspace at once: so deliveries are made
in the order of the events.
"""

from typing import Final, NamedTuple

from leadwire.delivery import metrics
from leadwire.delivery.endpoints.table import LARGEST_WINDOW
from leadwire.delivery.streams import Key
from leadwire.infrastructure import db
from leadwire.infrastructure.db.statements import sql

DELIVERIES: Final = 2000
"""Deliveries of a batch, unless one event alone makes more."""
_WORKSPACES: Final = 20  # a round
_PATIENCE: Final = "100ms"  # for an endpoint that somebody is changing: the other workspaces wait as well

# The next workspaces that have events, from one to the next along the index.
_BUSY: Final = sql("""
WITH RECURSIVE busy(workspace_id, place) AS (
    (SELECT workspace_id, 1 FROM outbox WHERE workspace_id > :after ORDER BY workspace_id LIMIT 1)
    UNION ALL
    SELECT (SELECT o.workspace_id FROM outbox o WHERE o.workspace_id > busy.workspace_id
            ORDER BY o.workspace_id LIMIT 1), place + 1
    FROM busy WHERE busy.workspace_id IS NOT NULL AND place < :most
)
SELECT workspace_id FROM busy WHERE workspace_id IS NOT NULL""")
# Whether this relay has the workspace, until the transaction ends.
_HAVE: Final = sql("""
SELECT pg_try_advisory_xact_lock(7224, hashtext(:workspace)), set_config('lock_timeout', :patience, true)""")
# Lock the endpoints whose deliveries are going to wait, and let admission look at them: those that are closed, and
# those whose window is full.
_WAKE: Final = sql(f"""
WITH locked AS MATERIALIZED (
    SELECT id FROM webhook_endpoint WHERE id = ANY(ARRAY(
        SELECT w.id FROM webhook_endpoint w WHERE w.workspace_id = :workspace AND (NOT w.open OR {LARGEST_WINDOW} <= (
            SELECT count(*) FROM (SELECT 1 FROM delivery d
                WHERE d.endpoint_id = w.id AND d.state = 'queued' LIMIT {LARGEST_WINDOW}) found))))
    ORDER BY id FOR NO KEY UPDATE
)
UPDATE webhook_endpoint SET due_at = least(due_at, now()), open = false WHERE id = ANY(ARRAY(SELECT id FROM locked))
RETURNING id""")
# Make deliveries of a batch of events and take these from the outbox. Those of `closed` endpoints wait: behind others,
# for their rate, or in order, where only the first of a subject is due. Those of other endpoints are queued.
_FAN_OUT: Final = sql("""
WITH batch AS (
    DELETE FROM outbox WHERE event_id = ANY(ARRAY(
        SELECT o.event_id FROM outbox o WHERE o.workspace_id = :workspace ORDER BY o.position
        LIMIT greatest(1, :deliveries / greatest(1, (
            SELECT count(*) FROM webhook_endpoint e WHERE e.workspace_id = :workspace AND e.enabled))) FOR UPDATE))
    RETURNING *
), pair AS (
    SELECT b.event_id, e.id AS endpoint_id, e.workspace_id, b.test_endpoint_id IS NOT NULL AS test, b.position,
        b.test_endpoint_id IS NULL AND e.id = ANY(:closed::text[]) AS waits,
        CASE WHEN e.ordered AND b.test_endpoint_id IS NULL AND e.id = ANY(:closed::text[]) THEN b.subject END AS subject
    FROM batch b JOIN webhook_endpoint e ON e.workspace_id = b.workspace_id AND CASE
        WHEN b.test_endpoint_id IS NULL THEN e.enabled AND b.kind = ANY(e.events) ELSE e.id = b.test_endpoint_id END
), placed AS (
    SELECT pair.*, subject IS NOT NULL AND (
        row_number() OVER (PARTITION BY endpoint_id, subject ORDER BY position) > 1
        OR (SELECT d.position FROM delivery d WHERE d.endpoint_id = pair.endpoint_id AND d.subject = pair.subject
            ORDER BY d.position LIMIT 1) IS NOT NULL) AS behind
    FROM pair
), made AS (
    INSERT INTO delivery (event_id, endpoint_id, workspace_id, state, test, subject, position, due_at, queued_at)
    SELECT event_id, endpoint_id, workspace_id, CASE WHEN waits THEN 'waiting' ELSE 'queued' END, test, subject,
        CASE WHEN subject IS NOT NULL THEN position END, CASE WHEN behind THEN 'infinity' ELSE now() END,
        CASE WHEN NOT waits THEN now() END
    FROM placed ON CONFLICT DO NOTHING RETURNING event_id, endpoint_id, state
)
SELECT extract(epoch FROM clock_timestamp() - recorded_at)::float8 AS age, NULL AS event_id, NULL AS endpoint_id,
    NULL AS state FROM batch
UNION ALL SELECT NULL, event_id, endpoint_id, state FROM made""")


class FanOut(NamedTuple):
    """How many events were relayed, the keys to put into the streams, and how many deliveries have to wait. `after`
    is where the next round begins, '' for the first workspace.
    """

    events: int
    keys: list[Key]
    waiting: int
    after: str


async def fan_out(after: str = "", deliveries: int = DELIVERIES) -> FanOut:
    """Relay a batch of each of the workspaces that follow `after` and have events."""
    busy = [row["workspace_id"] for row in await _BUSY.rows(after=after, most=_WORKSPACES)]
    events, waiting, keys = 0, 0, list[Key]()
    for workspace in busy:
        try:
            found = await _of_workspace(workspace, deliveries // len(busy))
        except db.Locked:
            continue  # the next round tries again
        ages = [row["age"] for row in found if row["age"] is not None]
        made = [row for row in found if row["age"] is None]
        metrics.relayed(ages)
        events += len(ages)
        queued = [Key(row["event_id"], row["endpoint_id"], 0) for row in made if row["state"] == "queued"]
        keys += queued
        waiting += len(made) - len(queued)
    return FanOut(events, keys, waiting, busy[-1] if len(busy) == _WORKSPACES else "")


async def _of_workspace(workspace: str, deliveries: int) -> list[db.Row]:
    async with db.transaction():
        if not await _HAVE.value(workspace=workspace, patience=_PATIENCE):
            return []
        closed = [row["id"] for row in await _WAKE.rows(workspace=workspace)]
        return await _FAN_OUT.rows(workspace=workspace, deliveries=deliveries, closed=closed)
