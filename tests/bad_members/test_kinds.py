"""Every kind of job: what is bad of a workspace waits alone, with its error, and is given up after its tries."""

import asyncio
from collections.abc import Collection, Sequence

import pytest

from leadwire.infrastructure import db
from leadwire.infrastructure.jobs import Again, Claimed, queue, reads
from leadwire.infrastructure.jobs.kinds import KINDS, Kind
from leadwire.infrastructure.jobs.runner import Runner
from leadwire.processes.background import find_kinds
from tests.bad_members.items import ITEMS
from tests.delivery.interleaved import apart
from tests.delivery.test_one_fails import refused
from tests.jobs import find
from tests.waiting import eventually

pytestmark = pytest.mark.usefixtures("long_pauses")

find_kinds()
REPEATED = {name: kind for name, kind in KINDS.items() if kind.every is not None}
OTHER = "other"
ROUNDS = 2
_FIRST = "UPDATE job SET due_at = now() - CASE WHEN key ~ $2 OR workspace_id = $2 THEN 2 ELSE 1 END * interval '1 s'"
_HOLD = "SELECT 1 FROM {} WHERE workspace_id = $1 FOR UPDATE"


async def nobody(_: Collection[str]) -> Collection[str]:
    return ()


class Noted:
    """A kind that notes the keys of its jobs."""

    def __init__(self, name: str, every: float | None = None) -> None:
        self.done: list[str] = []
        self.kind = Kind(name, self._run, 1, 1, 60.0, 3, every)

    async def _run(self, jobs: Sequence[Claimed]) -> Again | None:
        self.done += [job.key for job in jobs]
        return None if self.kind.every is None else Again(self.kind.every)


async def rounds(runner: Runner, count: int = 1) -> None:
    for _ in range(count):
        runner._looked = float("-inf")  # a test lets jobs be due in the past
        await runner.round()
        await asyncio.gather(*runner._calls)


async def due(name: str, bad: str) -> None:
    """All jobs of a kind are due, that of the bad workspace first."""
    await db.rows(f"{_FIRST} WHERE kind = $1 AND failed_at IS NULL", name, bad)


class Beside:
    """A job of each of two workspaces, and one of another kind."""

    def __init__(self, name: str, bad: str, good: str) -> None:
        self.name, self.bad, self.good = name, bad, good
        self.item, self.other = ITEMS[name], Noted(OTHER)
        self.runner = Runner(nobody, {name: KINDS[name], OTHER: self.other.kind})

    async def prepare(self) -> None:
        for workspace in (self.bad, self.good):
            await self.item.make(workspace)
        await find(self.name)
        await due(self.name, self.bad)
        await queue.add(OTHER, "work")

    async def of_bad(self) -> reads.Listed:
        (job,) = [one for one in await reads.listed(self.name) if self.bad in {one.workspace, *one.key.split()}] or [
            one for one in await reads.listed(self.name) if one.error
        ]
        return job

    async def done(self, workspace: str) -> bool:
        return bool(await db.value(self.item.done, workspace))


@pytest.fixture
async def beside(request, two, set_mail):
    set_mail("mailbox:")
    beside = Beside(request.param, two.bad, two.good)
    await beside.prepare()
    return beside


every_kind = pytest.mark.parametrize("beside", sorted(ITEMS), indirect=True)


def test_every_kind_that_is_no_chore_has_an_item():
    assert set(KINDS) - set(REPEATED) == set(ITEMS)


@every_kind
async def test_what_fails_is_alone(beside, note):
    async with refused(beside.item.table, beside.item.event, f"{row(beside)}.workspace_id = '{beside.bad}'"):
        await rounds(beside.runner, ROUNDS)
        job = await beside.of_bad()
        assert (job.state, job.tries, job.error) == ("scheduled", 1, "RaiseError: refused")
        assert (await beside.done(beside.bad), await beside.done(beside.good)) == (False, True)
        assert beside.other.done == ["work"]
        for _ in range(1, KINDS[beside.name].tries):
            await due(beside.name, beside.bad)
            await rounds(beside.runner)
    (summary,) = [one for one in await reads.summaries() if one.kind == beside.name]
    assert (summary.failed, summary.failing) == (1, 0)
    assert await reads.retry(beside.name) == 1
    await rounds(beside.runner)
    assert await beside.done(beside.bad)
    note(beside.name, f"{beside.item.event} of {beside.item.table} refused", "others done; given up; done by a retry")


def row(beside: Beside) -> str:
    return "OLD" if beside.item.event == "DELETE" else "NEW"


@every_kind
async def test_a_job_that_somebody_holds_is_passed_by(beside, note):
    key = (await beside.of_bad()).key
    async with db.transaction():
        await db.rows("SELECT 1 FROM job WHERE kind = $1 AND key = $2 FOR UPDATE", beside.name, key)
        await apart(rounds(beside.runner, ROUNDS))
        assert await apart(beside.done(beside.good))
        assert (await apart(beside.of_bad())).state == "waiting"
    await rounds(beside.runner, ROUNDS)
    assert await beside.done(beside.bad)
    note(beside.name, "its job is held", "others done; done when let go")


# Of retention a process does one sweep at a time: those of one workspace hold each other up.
@pytest.mark.parametrize("beside", sorted(set(ITEMS) - {"retention"}), indirect=True)
async def test_a_row_that_somebody_holds_holds_up_nobody_else(beside, note):
    stop = asyncio.Event()
    async with db.transaction():
        await db.rows(beside.item.hold or _HOLD.format(beside.item.table), beside.bad)
        running = apart(beside.runner.run(stop))
        try:
            await eventually(lambda: apart(beside.done(beside.good)))
            assert beside.other.done == ["work"]
        finally:
            stop.set()
    await running
    note(beside.name, f"its row of {beside.item.table} is held", "others done")


@pytest.mark.parametrize("name", sorted(REPEATED))
@pytest.mark.usefixtures("database")
async def test_what_is_done_again_and_again_and_fails_is_alone(name, note):
    others = {one: Noted(one, kind.every) for one, kind in REPEATED.items() if one != name}

    async def fail(_: Sequence[Claimed]) -> None:
        raise KeyError("no")

    runner = Runner(nobody, {one: other.kind for one, other in others.items()} | {name: KINDS[name]._replace(run=fail)})
    await rounds(runner)
    assert {one for one, other in others.items() if other.done == [""]} == set(others)
    (job,) = await reads.listed()
    assert (job.kind, job.state, job.tries, job.error) == (name, "scheduled", 1, "KeyError: 'no'")
    for _ in range(1, 12):
        await due(name, "-")
        await rounds(runner)
    (job,) = await reads.listed()
    assert (job.state, job.tries) == ("scheduled", 12)
    note(name, "it raises", "others done; never given up")
