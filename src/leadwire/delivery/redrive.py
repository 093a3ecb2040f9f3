"""Redrives: the dead letters of one event at once, and of many by the background process, a step at a time.

A batch and the job's place after it are one transaction, so a job never does anything twice, whoever dies when.
"""

from collections.abc import Sequence
from datetime import datetime
from functools import partial
from typing import Any, Final, Literal, NamedTuple

from piccolo.columns import Array, Boolean, Integer, Text, Timestamptz
from piccolo.table import Table

from leadwire.delivery.endpoints import due
from leadwire.delivery.states import State
from leadwire.delivery.streams import push
from leadwire.infrastructure import batches, db, ids, jobs
from leadwire.infrastructure.db import DB
from leadwire.infrastructure.db.statements import NOW, any_of, if_given, lists, named, param, sql, statement

JobState = Literal["running", "paused", "cancelled", "finished"]


class RedriveJob(Table, db=DB, tablename="redrive_job"):
    """One job. It goes through its deliveries by event and endpoint, and has done all up to `after_*`."""

    id = Text(primary_key=True)
    workspace_id = Text()
    endpoint_id = Text(null=True, default=None)  # null: every endpoint of the workspace
    replay = Boolean()  # every event to this endpoint, not only its dead letters
    kinds = Array(Text(), null=True, default=None)
    outcomes = Array(Text(), null=True, default=None)
    first_event = Text()  # the range of event ids, which is one of time
    end_event = Text()
    died_since = Timestamptz(
        null=True, default=None
    )  # nobody has started it: what has died since then (`auto_redrive`)
    per_second = Integer()
    state = Text()
    total = Integer()  # when it was made: more may have died since, or been sent by hand
    done = Integer(default=0)
    after_event = Text(default="")
    after_endpoint = Text(default="")
    stepped_at = Timestamptz()
    created_at = Timestamptz()
    updated_at = Timestamptz()


_LONGEST_STEP: Final = 5.0  # seconds' worth at once, after a pause of the process
_BIGGEST_STEP: Final = 2000  # deliveries
_UNDER_WAY: Final = 50  # deliveries of a job that nobody has started
TIMES: Final = 3
"""How often a delivery is sent again by itself."""
_TRIES: Final = 5  # of a step, in half a minute, before it goes on without those that fail

_RUNNING: Final = sql("SELECT id, workspace_id FROM redrive_job WHERE state = 'running'")

# The dead letters that meet the criteria. Where nobody has started the job, they are none once it may not go on.
_DEAD: Final = f"""
FROM delivery_result d JOIN webhook_endpoint e ON e.id = d.endpoint_id
WHERE d.workspace_id = :workspace_id AND d.state = 'dead' AND NOT d.test
  AND d.event_id >= :first_event AND d.event_id < :end_event
  AND (:endpoint_id::text IS NULL OR d.endpoint_id = :endpoint_id)
  AND (:kinds::text[] IS NULL OR EXISTS (SELECT 1 FROM event v WHERE v.id = d.event_id AND v.kind = ANY(:kinds)))
  AND (:outcomes::text[] IS NULL OR d.last_outcome = ANY(:outcomes))
  AND (:died_since::timestamptz IS NULL OR d.finished_at >= :died_since AND d.generation <= {TIMES} AND e.enabled
    AND e.auto_redrive_since IS NOT NULL AND coalesce(e.failing_since, now()) > now() - interval '1 minute')"""

# The events that an endpoint could have had, by the same criteria; without kinds, those it subscribes to now.
_PAST: Final = """
FROM event v JOIN webhook_endpoint e ON e.id = :endpoint_id AND e.workspace_id = v.workspace_id
WHERE v.workspace_id = :workspace_id AND v.id >= :first_event AND v.id < :end_event
  AND v.kind = ANY(coalesce(:kinds::text[], e.events)) AND :outcomes::text[] IS NULL
  AND v.test_endpoint_id IS NULL AND e.id IS DISTINCT FROM v.subject AND :died_since::timestamptz IS NULL
  AND v.body <> '' AND NOT EXISTS (SELECT 1 FROM outbox o WHERE o.event_id = v.id)"""

# The next batch of dead letters; of past events.
_NEXT_DEAD: Final = sql(f"""
SELECT d.event_id, d.endpoint_id {_DEAD} AND (d.event_id, d.endpoint_id) > (:after_event, :after_endpoint)
  AND d.event_id >= :after_event
ORDER BY d.event_id, d.endpoint_id LIMIT :allowed""")
_NEXT_PAST: Final = sql(f"""
SELECT v.id AS event_id, e.id AS endpoint_id {_PAST} AND (v.id, e.id) > (:after_event, :after_endpoint)
  AND v.id >= :after_event
ORDER BY v.id LIMIT :allowed""")


_ONE: Final = "event_id = :event_id AND endpoint_id = :endpoint_id AND workspace_id = :workspace AND NOT test"
_ENDED: Final = sql(f"SELECT event_id, endpoint_id FROM delivery_result WHERE {_ONE}")
# What is behind another, or in quarantine, is due never, and stays so.
_HURRY: Final = sql(f"""
UPDATE delivery SET due_at = now() WHERE {_ONE} AND state = 'waiting' AND due_at > now() AND due_at < 'infinity'
RETURNING 1""")

_EVENTS, _UNFINISHED, _AGAIN, _JOB, _DEAD_OF_EVENT, _NUMBERED, _STEPPED, _INSERT = named(
    __file__, "events unfinished again job dead_of_event numbered stepped insert"
)


_COUNT_DEAD: Final = sql(f"SELECT count(*) {_DEAD}")
_COUNT_PAST: Final = sql(f"SELECT count(*) {_PAST}")


_MOVE: Final = statement(
    RedriveJob.update({RedriveJob.state: param("after"), RedriveJob.stepped_at: NOW, RedriveJob.updated_at: NOW})
    .where(
        RedriveJob.id == param("id"), if_given(RedriveJob.workspace_id, "workspace"), any_of(RedriveJob.state, "before")
    )
    .returning(RedriveJob.workspace_id)
)
_DELETE_JOBS: Final = statement(RedriveJob.delete().where(RedriveJob.workspace_id == param("workspace")))


class Criteria(NamedTuple):
    """What a job sends: a workspace's, within a range of event ids; None is any endpoint, kind or last outcome.
    With `died_since`, what has died since then and may be sent again by itself.
    """

    workspace_id: str
    first_event: str
    end_event: str
    endpoint_id: str | None
    kinds: list[str] | None
    outcomes: list[str] | None
    died_since: datetime | None = None


class Step(NamedTuple):
    """How many deliveries were put back to wait, and whether that is all for now: also of a job that is paused."""

    moved: int
    ended: bool


async def count(criteria: Criteria, *, replay: bool) -> int:
    """Return how many deliveries match; with `replay`, events."""
    return int(await (_COUNT_PAST if replay else _COUNT_DEAD).value(**criteria._asdict()))


async def create(criteria: Criteria, per_second: int, *, replay: bool) -> str:
    """Make a job, which has ended when nothing matches. Return its id."""
    total = await count(criteria, replay=replay)
    values = {"id": ids.new("job"), "per_second": per_second, "total": total, "replay": replay}
    async with db.transaction():
        await _INSERT.rows(**criteria._asdict(), **values, state="running" if total else "finished")
        if total:
            await jobs.add("redrive", str(values["id"]), criteria.workspace_id)
    return str(values["id"])


async def move(workspace: str | None, job_id: str, before: Sequence[JobState], after: JobState) -> bool:
    """Let a job that is in one of the states `before` be `after`. Return whether it was in one."""
    async with db.transaction():
        rows = await _MOVE.rows(id=job_id, workspace=workspace, before=before, after=after)
        if rows and after == "running":
            await jobs.add("redrive", job_id, rows[0]["workspace_id"])
    return bool(rows)


async def delete_jobs(workspace: str) -> None:
    """Delete a workspace's jobs, also those that run."""
    await _DELETE_JOBS.rows(workspace=workspace)


async def redrive_event(
    workspace: str | None, event_id: str, endpoint_id: str | None = None, *, once: bool = False
) -> int:
    """Let the dead letters of one event wait again; `once`: for one more attempt. Return how many there were."""
    async with db.transaction():
        batch = await _DEAD_OF_EVENT.rows(workspace=workspace, event_id=event_id, endpoint_id=endpoint_id)
        return await _again(batch, replay=False, once=once)


async def redrive_numbers(workspace: str | None, endpoint_id: str, first: int, last: int) -> int:
    """Let what was sent with these numbers wait again, delivered or dead. Return how many deliveries."""
    async with db.transaction():
        batch = await _NUMBERED.rows(workspace=workspace, endpoint_id=endpoint_id, first=first, last=last)
        return await _again(batch, replay=True)


async def resend(workspace: str, event_id: str, endpoint_id: str) -> bool:
    """Let one delivery that has ended, however, wait again. Return False where there is none, or it is a test."""
    async with db.transaction():
        batch = await _ENDED.rows(workspace=workspace, event_id=event_id, endpoint_id=endpoint_id)
        return bool(await _again(batch, replay=False, states=("delivered", "dead", "cancelled")))


async def retry_now(workspace: str, event_id: str, endpoint_id: str) -> bool:
    """Make a retry that waits for its time due now. Return False where there is none."""
    async with db.transaction():
        await due.wake([endpoint_id])
        db.after_commit(push.wake_relay)
        return bool(await _HURRY.rows(workspace=workspace, event_id=event_id, endpoint_id=endpoint_id))


async def running() -> list[jobs.Offer]:
    """Return the jobs that run: an earlier version makes them without a job of the background process."""
    return [jobs.Offer(*row) for row in await _RUNNING.rows()]


async def step(job_id: str, tries: int = 0) -> Step:
    """Take a job on by what its rate allows. Raise db.Locked when somebody is changing it, or an endpoint.

    What cannot be redriven fails the step, as its cause may end. After some `tries` it is left as it is.
    """
    async with db.transaction():
        await due.PATIENCE.rows()
        job = await _JOB.row(longest=_LONGEST_STEP, under_way=_UNDER_WAY, id=job_id)
        if job is None:
            return Step(0, ended=True)
        allowed = min(int(job["allowed"]), _BIGGEST_STEP)
        if allowed < 1:
            return Step(0, ended=False)
        criteria = Criteria(*(job[name] for name in Criteria._fields))
        place = {name: job[name] for name in ("after_event", "after_endpoint")}
        batch = await (_NEXT_PAST if job["replay"] else _NEXT_DEAD).rows(**criteria._asdict(), **place, allowed=allowed)
        if batch:
            await _lock(batch)  # all at once: that somebody holds one is the failure of none
            least = 1 if tries >= _TRIES else len(batch)
            await batches.most(batch, partial(_again, replay=job["replay"]), "delivery.not_redriven", least=least)
            place = {"after_event": batch[-1]["event_id"], "after_endpoint": batch[-1]["endpoint_id"]}
        finished = len(batch) < allowed
        await _STEPPED.rows(id=job["id"], moved=len(batch), **place, finished=finished)
        return Step(len(batch), ended=finished)


async def _again(batch: Sequence[db.Row], *, replay: bool, states: Sequence[State] = (), once: bool = False) -> int:
    """Let these (event, endpoint) wait again. Return how many do; in an order, what comes after them waits for them."""
    states = states or (("delivered", "dead") if replay else ("dead",))
    if not batch:
        return 0
    asked, known = await _lock(batch)
    db.after_commit(push.wake_relay)
    again = await _AGAIN.rows(**asked, states=states, replay=replay, once=once)
    if any(known.values()):
        await due.release_first({(endpoint_id, subject) for endpoint_id, subject in again if subject})
    return len(again)


async def _lock(batch: Sequence[db.Row]) -> tuple[dict[str, Any], dict[str, bool]]:
    """Lock endpoints, events and what is unfinished, in the order of all locks. Return values, and `due.wake`'s."""
    pairs = lists("events endpoints", batch)
    bounds = {"first": min(pairs["events"]), "last": max(pairs["events"])}
    known = await due.wake(pairs["endpoints"])
    await _EVENTS.rows(events=pairs["events"], **bounds)
    await _UNFINISHED.rows(**pairs)
    return pairs | bounds, known
