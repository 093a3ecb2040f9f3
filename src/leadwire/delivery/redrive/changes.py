"""Redrives: the dead letters of one event at once, and jobs for many, which the relay takes a step on at a time.

A batch and the job's place after it are one transaction, so a job never does anything twice, whoever dies when.
"""

from collections.abc import Sequence
from typing import Final, NamedTuple

from leadwire.delivery.redrive.table import JobState, RedriveJob
from leadwire.infrastructure import clock, db, ids
from leadwire.infrastructure.db.statements import NOW, any_of, if_given, param, sql, statement

_LONGEST_STEP: Final = 5.0  # seconds' worth at once, after a pause of the relay
_BIGGEST_STEP: Final = 2000  # deliveries

# The running job that has waited longest for its step, and how many deliveries its rate allows by now.
_NEXT: Final = sql("""
SELECT *, least(:longest, extract(epoch FROM now() - stepped_at)::float8) * per_second AS allowed FROM redrive_job
WHERE state = 'running' AND NOT id = ANY(:seen::text[]) ORDER BY stepped_at LIMIT 1 FOR UPDATE SKIP LOCKED""")

# The dead letters that meet the criteria.
_DEAD: Final = """
FROM delivery d JOIN webhook_endpoint e ON e.id = d.endpoint_id
WHERE d.workspace_id = :workspace_id AND d.state = 'dead' AND NOT d.test
  AND d.event_id >= :first_event AND d.event_id < :end_event
  AND (:endpoint_id::text IS NULL OR d.endpoint_id = :endpoint_id)
  AND (:kinds::text[] IS NULL OR EXISTS (SELECT 1 FROM outbox_event v WHERE v.id = d.event_id AND v.kind = ANY(:kinds)))
  AND (:outcomes::text[] IS NULL OR d.last_outcome = ANY(:outcomes))"""

# The events that an endpoint could have had, by the same criteria; without kinds, those it subscribes to now.
_PAST: Final = """
FROM outbox_event v JOIN webhook_endpoint e ON e.id = :endpoint_id AND e.workspace_id = v.workspace_id
WHERE v.workspace_id = :workspace_id AND v.id >= :first_event AND v.id < :end_event
  AND v.kind = ANY(coalesce(:kinds::text[], e.events)) AND :outcomes::text[] IS NULL
  AND v.test_endpoint_id IS NULL AND v.body <> '' AND v.relayed_at IS NOT NULL"""

# The next batch of dead letters waits again, as a new generation.
# KEY SHARE makes deleting an endpoint wait for us, or us for the deletion: no delivery waits for one that is gone.
# SHARE does the same for the erasure of an event: nothing of it is left to send, so its delivery would never end.
_REDRIVE: Final = sql(f"""
WITH batch AS (
    SELECT d.event_id, d.endpoint_id {_DEAD} AND (d.event_id, d.endpoint_id) > (:after_event, :after_endpoint)
      AND d.event_id >= :after_event
    ORDER BY d.event_id, d.endpoint_id LIMIT :allowed FOR UPDATE OF d FOR KEY SHARE OF e
), again AS (
    UPDATE delivery d SET state = 'waiting', attempts = 0, drive = drive + 1, due_at = now(), queued_at = NULL,
        finished_at = NULL
    FROM batch WHERE d.event_id = batch.event_id AND d.endpoint_id = batch.endpoint_id
)
SELECT event_id, endpoint_id FROM batch ORDER BY event_id, endpoint_id""")

# The next batch of past events: a delivery of each, or a new generation of the one that has ended.
_REPLAY: Final = sql(f"""
WITH batch AS (
    SELECT v.id AS event_id, e.id AS endpoint_id, v.workspace_id, v.position,
        CASE WHEN e.ordered THEN v.subject END AS subject
    {_PAST} AND (v.id, e.id) > (:after_event, :after_endpoint) AND v.id >= :after_event ORDER BY v.id LIMIT :allowed
    FOR KEY SHARE OF e FOR SHARE OF v
), again AS (
    INSERT INTO delivery (event_id, endpoint_id, workspace_id, state, subject, position, due_at)
    SELECT event_id, endpoint_id, workspace_id, 'waiting', subject,
        CASE WHEN subject IS NOT NULL THEN position END, now()
    FROM batch ON CONFLICT (event_id, endpoint_id) DO UPDATE SET state = 'waiting', attempts = 0,
        drive = delivery.drive + 1, due_at = now(), queued_at = NULL, finished_at = NULL
    WHERE delivery.state IN ('delivered', 'dead')
)
SELECT event_id, endpoint_id FROM batch ORDER BY event_id""")

# A job's place after a batch.
_STEPPED: Final = sql("""
UPDATE redrive_job SET done = done + :moved, after_event = :after_event, after_endpoint = :after_endpoint,
    stepped_at = now(), updated_at = now(), state = CASE WHEN :finished THEN 'finished' ELSE state END
WHERE id = :id""")

_COUNT_DEAD: Final = sql(f"SELECT count(*) {_DEAD}")
_COUNT_PAST: Final = sql(f"SELECT count(*) {_PAST}")

# A job whose first step may begin at once, with a second's worth.
_INSERT: Final = sql("""
INSERT INTO redrive_job (id, workspace_id, first_event, end_event, endpoint_id, kinds, outcomes, replay, per_second,
    state, total, stepped_at, created_at, updated_at)
VALUES (:id, :workspace_id, :first_event, :end_event, :endpoint_id, :kinds, :outcomes, :replay, :per_second,
    :state, :total, now() - interval '1 second', :now, :now)""")

_MOVE: Final = statement(
    RedriveJob.update({RedriveJob.state: param("after"), RedriveJob.stepped_at: NOW, RedriveJob.updated_at: NOW})
    .where(
        RedriveJob.id == param("id"),
        if_given(RedriveJob.workspace_id, "workspace"),
        any_of(RedriveJob.state, "before"),
    )
    .returning(RedriveJob.id)
)

# The dead letters of one event wait again, as a new generation; KEY SHARE as above.
_REDRIVE_EVENT: Final = sql("""
UPDATE delivery SET state = 'waiting', attempts = 0, drive = drive + 1, due_at = now(), queued_at = NULL,
    finished_at = NULL
WHERE event_id = :event_id AND state = 'dead' AND NOT test AND (:workspace::text IS NULL OR workspace_id = :workspace)
  AND (:endpoint_id::text IS NULL OR endpoint_id = :endpoint_id)
  AND EXISTS (SELECT 1 FROM webhook_endpoint e WHERE e.id = endpoint_id FOR KEY SHARE)
RETURNING 1""")


class Criteria(NamedTuple):
    """What a job sends: a workspace's, within a range of event ids; None is any endpoint, kind or last outcome."""

    workspace_id: str
    first_event: str
    end_event: str
    endpoint_id: str | None
    kinds: list[str] | None
    outcomes: list[str] | None


async def count(criteria: Criteria, *, replay: bool) -> int:
    """Return how many deliveries match; with `replay`, events."""
    return int(await (_COUNT_PAST if replay else _COUNT_DEAD).value(**criteria._asdict()))


async def create(criteria: Criteria, per_second: int, total: int, *, replay: bool) -> str:
    """Make a job, which has ended when `total` is 0. Return its id."""
    job_id = ids.new("job")
    await _INSERT.rows(
        **criteria._asdict(),
        id=job_id,
        replay=replay,
        per_second=per_second,
        state="running" if total else "finished",
        total=total,
        now=clock.now(),
    )
    return job_id


async def move(workspace: str | None, job_id: str, before: Sequence[JobState], after: JobState) -> bool:
    """Let a job that is in one of the states `before` be `after`. Return whether it was in one."""
    return bool(await _MOVE.rows(id=job_id, workspace=workspace, before=before, after=after))


async def redrive_event(workspace: str | None, event_id: str, endpoint_id: str | None = None) -> int:
    """Let the dead letters of one event wait again. Return how many there were."""
    return len(await _REDRIVE_EVENT.rows(workspace=workspace, event_id=event_id, endpoint_id=endpoint_id))


async def step() -> int:
    """Take each running job on by what its rate allows. Return how many deliveries were put back to wait."""
    moved = 0
    seen: list[str] = []
    while (taken := await _step_one(seen)) is not None:
        moved += taken
    return moved


async def _step_one(seen: list[str]) -> int | None:
    async with db.transaction():
        job = await _NEXT.row(longest=_LONGEST_STEP, seen=seen)
        if job is None:
            return None
        seen.append(job["id"])
        allowed = min(int(job["allowed"]), _BIGGEST_STEP)
        if allowed < 1:
            return 0
        criteria = Criteria(*(job[name] for name in Criteria._fields))
        place = {name: job[name] for name in ("after_event", "after_endpoint")}
        batch = await (_REPLAY if job["replay"] else _REDRIVE).rows(**criteria._asdict(), **place, allowed=allowed)
        if batch:
            place = {"after_event": batch[-1]["event_id"], "after_endpoint": batch[-1]["endpoint_id"]}
        await _STEPPED.rows(id=job["id"], moved=len(batch), **place, finished=len(batch) < allowed)
        return len(batch)
