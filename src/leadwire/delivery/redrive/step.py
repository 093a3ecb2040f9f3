"""Takes every running job a step on: as many deliveries as its rate allows since the step before.

A batch and the job's place after it are one transaction, so a job never does anything twice, whoever dies when.
"""

from typing import Any, Final

from leadwire.infrastructure import db

_LONGEST_STEP: Final = 5.0  # seconds' worth at once, after a pause of the relay
_BIGGEST_STEP: Final = 2000  # deliveries

_NEXT: Final = """
SELECT *, least($1, extract(epoch FROM now() - stepped_at)::float8) * per_second AS allowed FROM redrive_job
WHERE state = 'running' AND NOT id = ANY($2::text[]) ORDER BY stepped_at LIMIT 1 FOR UPDATE SKIP LOCKED"""

DEAD: Final = """
FROM delivery d JOIN webhook_endpoint e ON e.id = d.endpoint_id
WHERE d.workspace_id = $1 AND d.state = 'dead' AND NOT d.test AND d.event_id >= $2 AND d.event_id < $3
  AND ($4::text IS NULL OR d.endpoint_id = $4)
  AND ($5::text[] IS NULL OR EXISTS (SELECT 1 FROM outbox_event v WHERE v.id = d.event_id AND v.kind = ANY($5)))
  AND ($6::text[] IS NULL OR d.last_outcome = ANY($6))"""
"""The dead letters of a workspace, a range of event ids, an endpoint, event kinds and last outcomes (null: any)."""

PAST: Final = """
FROM outbox_event v JOIN webhook_endpoint e ON e.id = $4 AND e.workspace_id = v.workspace_id
WHERE v.workspace_id = $1 AND v.id >= $2 AND v.id < $3 AND v.kind = ANY(coalesce($5::text[], e.events))
  AND $6::text[] IS NULL AND v.test_endpoint_id IS NULL AND v.body <> '' AND v.relayed_at IS NOT NULL"""
"""The events that an endpoint could have had, with the same parameters; without kinds, those it subscribes to now."""

# KEY SHARE makes deleting an endpoint wait for us, or us for the deletion: no delivery waits for one that is gone.
# SHARE does the same for the erasure of an event: nothing of it is left to send, so its delivery would never end.
_REDRIVE: Final = f"""
WITH batch AS (
    SELECT d.event_id, d.endpoint_id {DEAD} AND (d.event_id, d.endpoint_id) > ($7, $8)
      AND d.event_id >= $7
    ORDER BY d.event_id, d.endpoint_id LIMIT $9 FOR UPDATE OF d FOR KEY SHARE OF e
), again AS (
    UPDATE delivery d SET state = 'waiting', attempts = 0, drive = drive + 1, due_at = now(), queued_at = NULL,
        finished_at = NULL
    FROM batch WHERE d.event_id = batch.event_id AND d.endpoint_id = batch.endpoint_id
)
SELECT event_id, endpoint_id FROM batch ORDER BY event_id, endpoint_id"""

_REPLAY: Final = f"""
WITH batch AS (
    SELECT v.id AS event_id, e.id AS endpoint_id, v.workspace_id, v.position,
        CASE WHEN e.ordered THEN v.subject END AS subject
    {PAST} AND (v.id, e.id) > ($7, $8) AND v.id >= $7 ORDER BY v.id LIMIT $9
    FOR KEY SHARE OF e FOR SHARE OF v
), again AS (
    INSERT INTO delivery (event_id, endpoint_id, workspace_id, state, subject, position, due_at)
    SELECT event_id, endpoint_id, workspace_id, 'waiting', subject,
        CASE WHEN subject IS NOT NULL THEN position END, now()
    FROM batch ON CONFLICT (event_id, endpoint_id) DO UPDATE SET state = 'waiting', attempts = 0,
        drive = delivery.drive + 1, due_at = now(), queued_at = NULL, finished_at = NULL
    WHERE delivery.state IN ('delivered', 'dead')
)
SELECT event_id, endpoint_id FROM batch ORDER BY event_id"""

_STEPPED: Final = """
UPDATE redrive_job SET done = done + $2, after_event = $3, after_endpoint = $4, stepped_at = now(), updated_at = now(),
    state = CASE WHEN $5 THEN 'finished' ELSE state END
WHERE id = $1"""


async def step() -> int:
    """Take each running job on; answers how many deliveries were put back to wait."""
    moved = 0
    seen: list[str] = []
    while (taken := await _step_one(seen)) is not None:
        moved += taken
    return moved


async def _step_one(seen: list[str]) -> int | None:
    async with db.transaction():
        job = await db.row(_NEXT, _LONGEST_STEP, seen)
        if job is None:
            return None
        seen.append(job["id"])
        allowed = min(int(job["allowed"]), _BIGGEST_STEP)
        if allowed < 1:
            return 0
        batch = await db.rows(
            _REPLAY if job["replay"] else _REDRIVE,
            *selection(job),
            job["after_event"],
            job["after_endpoint"],
            allowed,
        )
        last = batch[-1] if batch else (job["after_event"], job["after_endpoint"])
        await db.rows(_STEPPED, job["id"], len(batch), *last, len(batch) < allowed)
        return len(batch)


def selection(job: Any) -> tuple[Any, ...]:
    """The parameters of `DEAD` and `PAST`, from a job's columns."""
    return tuple(
        job[column] for column in ("workspace_id", "first_event", "end_event", "endpoint_id", "kinds", "outcomes")
    )
