"""PostgreSQL's clock is put back, as by a failover to a server with another one: jobs do not wait as long."""

from datetime import timedelta

import pytest

from leadwire.domain.webhooks import redrives
from leadwire.domain.webhooks.redrives import Selection
from leadwire.infrastructure import clock, db
from leadwire.infrastructure.jobs import Again, Claimed, Offer, kinds, queue, reads
from leadwire.infrastructure.jobs.runner import Runner
from tests import jobs
from tests.delivery.test_redrives import dead
from tests.infrastructure.jobs.test_runner import Work, add, nobody

pytestmark = pytest.mark.usefixtures("database", "long_pauses")


async def due_in(key: str) -> float:
    return float(await db.value("SELECT extract(epoch FROM due_at - now())::float8 FROM job WHERE key = $1", key))


async def test_chores_and_looks_for_work_go_on(db_clock, monkeypatch):
    monkeypatch.setattr(kinds, "KINDS", {})
    done = []

    @kinds.chore("sweep", every=60)
    async def sweep() -> None:
        done.append("sweep")

    async def find() -> list[Offer]:
        done.append("find")
        return []

    kinds.job("swept", find=find, every=1)(None)
    for seconds in (0, -3600, 0):
        await db_clock.forward(seconds)
        await Runner(nobody, kinds.KINDS).run_all()
    assert sorted(done) == ["find", "find", "sweep", "sweep"]


async def test_a_redrive_goes_on(workspace, bot, wire, receiver, db_clock):
    await dead(workspace, bot, wire, receiver, 9)
    await redrives.start(workspace, Selection(), 1)
    moved = []
    for seconds in (0, -3600):
        await db_clock.forward(seconds)
        await jobs.runner("redrive").run_all()
        moved.append(await db.value("SELECT sum(done) FROM redrive_job"))
    assert moved == [1, 6]


async def test_the_jobs_of_a_dead_process_wait_for_its_lease_only(db_clock):
    work = Work()
    work.kind = work.kind._replace(ahead=300.0)
    await add("a")
    await queue.claim([queue.Room("test", 1, clock.from_unix(0), "", 10)], "dead")
    await db_clock.forward(-3600)
    await work.runner().run_all()
    assert work.done == []
    await db_clock.forward(queue.LEASE + 1)
    await work.runner().run_all()
    assert work.done == ["a"]


async def test_a_pause_after_a_failure_stays_as_long_as_it_can_be(db_clock):
    work = Work(limit=3600)
    work.kind = work.kind._replace(ahead=1.0)
    await add("a")
    await db.rows("UPDATE job SET tries = 1, due_at = now() + interval '3600 seconds'")
    await work.runner().run_all()
    assert await due_in("a") == 3600
    await db_clock.forward(-1)
    await work.runner().run_all()
    assert work.done == ["a"]


async def test_what_is_for_a_certain_time_waits_for_it(db_clock):
    work = Work()
    await queue.add("test", "a", "ws_a", await db.value("SELECT now()") + timedelta(days=1))
    await work.runner().run_all()
    assert (work.done, await due_in("a")) == ([], 86_400)


async def test_a_job_goes_on_within_the_time_that_its_kind_says(db_clock, monkeypatch):
    monkeypatch.setattr(kinds, "KINDS", {})

    @kinds.job("test")
    async def one(job: Claimed) -> Again:
        return Again(3600)

    await add("a")
    await Runner(nobody, kinds.KINDS).run_all()
    assert await due_in("a") == kinds.LONGEST_PAUSE
    assert [job.state for job in await reads.listed("test")] == ["scheduled"]
