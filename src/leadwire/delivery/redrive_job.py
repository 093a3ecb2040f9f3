"""Redrives: jobs that send deliveries again, a step at a time by the background process.

A batch and the job's place after it are one transaction, so a job never does anything twice, whoever dies when. A job
whose deliveries somebody has named, by an event or by numbers, takes its first step at once.
"""

from collections.abc import Iterable, Sequence
from datetime import datetime
from typing import Any, Final, Literal, NamedTuple

from piccolo.columns import Array, BigInt, Boolean, Integer, Text, Timestamptz
from piccolo.table import Table

from leadwire.delivery.endpoints import due
from leadwire.delivery.states import State
from leadwire.delivery.streams import push
from leadwire.infrastructure import batches, db, ids, jobs, settings
from leadwire.infrastructure.db import DB
from leadwire.infrastructure.db.declared import Declared
from leadwire.infrastructure.db.statements import lists, named

JobState = Literal["running", "paused", "cancelled", "finished"]


class RedriveJob(Table, db=DB, tablename="redrive_job"):
    """One job. It goes through its deliveries by event and endpoint, and has done all up to `after_*`."""

    # Those that nobody has started tell why attempts were made, as long as these are kept; one that somebody has
    # cancelled, from when on dead letters are sent again by themselves (`auto_redrive.sql`).
    declared = Declared(
        line="redrive", imported=False,
        ends="state IN ('finished', 'cancelled') AND died_since IS NULL AND updated_at < now() - interval '30 days'"
        " OR state = 'finished' AND updated_at < now() - greatest(30, :retention_days) * interval '1 day'",
    )  # fmt: skip
    id = Text(primary_key=True)
    workspace_id = Text()
    endpoint_id = Text(null=True, default=None)  # null: every endpoint of the workspace
    replay = Boolean()  # every event to this endpoint, not only its dead letters
    kinds = Array(Text(), null=True, default=None)
    outcomes = Array(Text(), null=True, default=None)
    first_event = Text()  # the range of event ids, which is one of time
    end_event = Text()
    first_number = BigInt(null=True, default=None)  # of a replay to a numbered endpoint: only what has these numbers
    last_number = BigInt(null=True, default=None)
    died_since = Timestamptz(null=True, default=None)  # nobody has started it: what has died since (`auto_redrive`)
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
"""How often a delivery is sent again by itself; in both files of SQL, too."""
_TRIES: Final = 5  # of a step, in half a minute, before it goes on without those that fail

# By whether it is a replay.
_COUNT, _NEXT = named(__file__, "count_dead count_past"), named(__file__, "next_dead next_past")
_HURRY, _EVENTS, _UNFINISHED, _AGAIN, _JOB, _STEPPED, _INSERT, _MOVE = named(
    __file__, "hurry events unfinished again job stepped insert move"
)


class Criteria(NamedTuple):
    """What a job sends: a workspace's dead letters, within a range of event ids; None is any endpoint, kind or last
    outcome. With `replay`, what one endpoint could have had, with these numbers or any, whatever came of it; with
    `died_since`, what has died since and may be sent again by itself.
    """

    workspace_id: str
    first_event: str
    end_event: str
    endpoint_id: str | None = None
    kinds: list[str] | None = None
    outcomes: list[str] | None = None
    first_number: int | None = None
    last_number: int | None = None
    replay: bool = False
    died_since: datetime | None = None

    @property
    def named(self) -> bool:
        """Whether it is one event, or some numbers."""
        return self.first_number is not None or self.end_event == after(self.first_event)


def after(event_id: str) -> str:
    """The end of the range of ids that begins with an event and has no other."""
    return f"{event_id}0"


class Step(NamedTuple):
    """How many deliveries were put back to wait, and whether that is all for now: also of a job that is paused."""

    moved: int
    ended: bool


async def count(criteria: Criteria) -> int:
    """Return how many deliveries match; of a replay, events."""
    return int(await _COUNT[criteria.replay].value(**criteria._asdict()))


async def create(criteria: Criteria, per_second: int) -> str:
    """Make a job, which has ended when nothing matches. Return its id. A replay ends with what there is now: what comes
    while it runs is on its way already.
    """
    ((total, last),) = await _COUNT[criteria.replay].rows(**criteria._asdict())
    job_id = ids.new("job")
    if total and criteria.replay:
        criteria = criteria._replace(end_event=after(last))
    state: JobState = "running" if total else "finished"
    async with db.transaction():
        await _INSERT.rows(**criteria._asdict(), id=job_id, per_second=per_second, total=total, state=state)
        if total:
            await jobs.add("redrive", job_id, criteria.workspace_id)
        if total and criteria.named:  # at once; what cannot be done so is left to the background process
            await batches.undone([job_id], lambda named: _step(named[0]))
    return job_id


async def move(workspace: str | None, job_id: str, before: Sequence[JobState], after: JobState) -> bool:
    """Let a job that is in one of the states `before` be `after`. Return whether it was in one."""
    async with db.transaction():
        rows = await _MOVE.rows(id=job_id, workspace=workspace, before=before, after=after)
        if rows and after == "running":
            await jobs.add("redrive", job_id, rows[0]["workspace_id"])
    return bool(rows)


async def once_more(event_id: str, endpoint_id: str) -> None:
    """Let a dead letter wait again, in the open transaction, for one more attempt."""
    await _again([(event_id, endpoint_id)], used=len(settings.get().retry_schedule) + 1)


async def retry_now(workspace: str, event_id: str, endpoint_id: str) -> bool:
    """Make a retry that waits for its time due now. Return False where there is none."""
    async with db.transaction():
        await due.wake([endpoint_id])
        db.after_commit(push.wake_relay)
        return bool(await _HURRY.rows(workspace=workspace, event_id=event_id, endpoint_id=endpoint_id))


async def step(job_id: str, tries: int = 0) -> Step:
    """Take a job on by what its rate allows. Raise db.Locked when somebody is changing it, or an endpoint.

    What cannot be redriven fails the step, as its cause may end. After some `tries` it is left as it is.
    """
    async with db.transaction():
        await due.PATIENCE.rows()
        return await _step(job_id, tries)


async def _step(job_id: str, tries: int = 0) -> Step:
    job = await _JOB.row(longest=_LONGEST_STEP, under_way=_UNDER_WAY, id=job_id)
    if job is None:
        return Step(0, ended=True)
    allowed = min(int(job["allowed"]), _BIGGEST_STEP)
    if allowed < 1:
        return Step(0, ended=False)
    criteria = Criteria(*(job[name] for name in Criteria._fields))
    position = {name: job[name] for name in ("after_event", "after_endpoint")}
    batch = await _NEXT[criteria.replay].rows(**criteria._asdict(), **position, allowed=allowed)
    moved = list[db.Row]()

    async def again(part: Sequence[Iterable[str]]) -> None:
        moved.extend(await _again(part, replay=criteria.replay))

    if batch:
        await _lock(batch)  # all at once: that somebody holds one is the failure of none
        # Where all of several fail, the cause is in none of them.
        least = min(1, len(batch) - 1) if tries >= _TRIES else len(batch)
        await batches.most(batch, again, "delivery.not_redriven", least=least)
        position = {"after_event": batch[-1]["event_id"], "after_endpoint": batch[-1]["endpoint_id"]}
    finished = len(batch) < allowed
    await _STEPPED.rows(id=job["id"], moved=len(moved), **position, finished=finished)
    return Step(len(moved), ended=finished)


async def _again(batch: Sequence[Iterable[str]], *, replay: bool = False, used: int | None = None) -> list[db.Row]:
    """Let these (event, endpoint) wait again; in an order, what comes after them waits for them. Return a row for each
    that does: not for what was erased, or sent again by somebody else, meanwhile.
    """
    states: tuple[State, ...] = ("delivered", "dead", "cancelled") if replay else ("dead",)
    values, ready = await _lock(batch)
    db.after_commit(push.wake_relay)
    again = await _AGAIN.rows(**values, states=states, replay=replay, used=used)
    if any(ready.values()):
        await due.release_first({(endpoint_id, subject) for endpoint_id, subject in again if subject})
    return again


async def _lock(batch: Sequence[Iterable[str]]) -> tuple[dict[str, Any], dict[str, bool]]:
    """Lock endpoints, events and what is unfinished, in the order of all locks. Return values, and `due.wake`'s."""
    pairs = lists("events endpoints", batch)
    bounds = {"first": min(pairs["events"]), "last": max(pairs["events"])}
    ready = await due.wake(pairs["endpoints"])
    await _EVENTS.rows(events=pairs["events"], **bounds)
    await _UNFINISHED.rows(**pairs)
    return pairs | bounds, ready
