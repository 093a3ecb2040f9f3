"""Jobs on a real database: each is alone with its failure, and workspaces take turns."""

import asyncio
import itertools
import math
from collections.abc import Awaitable, Callable, Collection, Sequence
from contextvars import Context
from datetime import timedelta
from types import SimpleNamespace

import asyncpg
import pytest

from leadwire.infrastructure import clock, db
from leadwire.infrastructure.db.engine import LIMITS
from leadwire.infrastructure.jobs import Again, Claimed, Offer, kinds, queue, reads, runner
from leadwire.infrastructure.jobs.kinds import Kind
from leadwire.infrastructure.jobs.runner import Runner
from tests.delivery.elsewhere import moved_to
from tests.delivery.test_one_fails import refused
from tests.waiting import eventually

pytestmark = pytest.mark.usefixtures("database", "long_pauses")


async def nobody(_: Collection[str]) -> Collection[str]:
    return ()


class Work:
    """A kind of job that notes what it does, and fails for the keys in `failing`."""

    def __init__(self, **options: int) -> None:
        self.done: list[str] = []
        self.calls: list[list[str]] = []
        self.failing: set[str] = set()
        self.answer: Again | None = None
        values = {"batch": 1, "at_once": 1, "limit": 60.0, "tries": 3, "every": None} | options
        self.kind = Kind(name="test", run=self.run, **values)

    async def run(self, jobs: Sequence[Claimed]) -> Again | None:
        self.calls.append([job.key for job in jobs])
        if self.failing & {job.key for job in jobs}:
            raise KeyError("no")
        self.done += [job.key for job in jobs]
        return self.answer

    def runner(self, resting: Callable[[Collection[str]], Awaitable[Collection[str]]] = nobody) -> Runner:
        return Runner(resting, {"test": self.kind})


async def add(*keys: str, workspace: str = "ws_a") -> None:
    await queue.add_all("test", [Offer(key, workspace) for key in keys])


async def jobs() -> dict[str, tuple[str, int]]:
    return {job.key: (job.state, job.tries) for job in await reads.listed("test")}


async def test_a_job_that_is_done_is_gone():
    work = Work()
    await add("a", "b")
    await work.runner().run_all()
    assert sorted(work.done) == ["a", "b"]
    assert await jobs() == {}


async def test_one_that_fails_holds_up_nobody_and_waits():
    work = Work()
    work.failing = {"a"}
    await add("a")
    await add("b", workspace="ws_b")
    await work.runner().run_all()
    assert work.done == ["b"]
    assert await jobs() == {"a": ("scheduled", 1)}
    (job,) = await reads.listed("test")
    assert job.error == "KeyError: 'no'"


async def test_a_batch_that_fails_is_taken_apart_in_the_same_round():
    work = Work(batch=10)
    work.failing = {"c"}
    await add(*"abcde")
    await work.runner().run_all()
    assert sorted(work.done) == ["a", "b", "d", "e"]
    assert await jobs() == {"c": ("scheduled", 1)}


async def test_what_fails_again_and_again_is_given_up_until_it_is_retried(db_clock):
    work = Work()
    work.failing = {"a"}
    await add("a")
    for _ in range(4):
        await work.runner().run_all()
        await db_clock.forward(600)
    assert work.calls == [["a"]] * 3
    assert await jobs() == {"a": ("failed", 3)}
    assert [(one.failed, one.waiting) for one in await reads.summaries()] == [(1, 0)]
    work.failing = set()
    assert await reads.retry("test", "a") == 1
    await work.runner().run_all()
    assert work.done == ["a"]


async def test_what_was_given_up_begins_anew_when_it_is_added_again(db_clock):
    work = Work(tries=1)
    work.failing = {"a"}
    await add("a")
    await work.runner().run_all()
    assert await jobs() == {"a": ("failed", 1)}
    work.failing = set()
    await queue.offer("test", [Offer("a", "ws_a")])  # known: nothing changes
    await work.runner().run_all()
    assert work.done == []
    await add("a")
    await work.runner().run_all()
    assert work.done == ["a"]


async def test_the_pause_grows_and_an_addition_does_not_shorten_it(db_clock, monkeypatch):
    monkeypatch.setattr(runner, "_FIRST_PAUSE", 16.0)
    work = Work(tries=20)
    work.failing = {"a"}
    await add("a")
    pauses = []
    for _ in range(5):
        await work.runner().run_all()
        await add("a")
        (job,) = await reads.listed("test")
        pauses.append(round(math.log2((job.due_at - await db.value("SELECT now()")).total_seconds())))
        await db_clock.forward(3600)
    assert pauses == [4, 5, 6, 7, 8]


async def test_what_fails_late_rests_as_long_as_it_took(monkeypatch):
    """Else the servers would do nothing else."""
    hours, work = itertools.count(0, 3600), Work(limit=7200)
    work.failing = {"a"}
    await add("a")
    monkeypatch.setattr(runner, "time", SimpleNamespace(monotonic=lambda: float(next(hours))))
    await work.runner().run_all()
    (job,) = await reads.listed("test")
    assert (job.due_at - await db.value("SELECT now()")).total_seconds() > 3000


async def test_workspaces_take_turns():
    work = Work(batch=2)
    await queue.add_all("test", [Offer(f"a{number:04}", "ws_a") for number in range(1200)])
    await add("b", workspace="ws_b")
    await add("c", workspace="ws_c")
    runner = work.runner()
    while not {"b", "c"} <= set(work.done):
        await runner.round()
        await asyncio.gather(*runner._calls)
    assert len(work.done) <= 6


async def test_more_workspaces_than_are_looked_at_get_their_turn_one_after_the_other():
    work = Work(batch=20)
    await queue.add_all("test", [Offer(f"a{number:04}", "ws_a") for number in range(1200)])
    await queue.add_all("test", [Offer(f"other{number:03}", f"ws_b{number:03}") for number in range(130)])
    runner = work.runner()
    while not {f"other{number:03}" for number in range(130)} <= set(work.done):
        await runner.round()
        await asyncio.gather(*runner._calls)
    assert sum(key.startswith("a") for key in work.done) < 200


async def test_a_row_that_somebody_holds_is_passed_by():
    work = Work()
    await add("a")
    await add("b")
    async with db.transaction():
        await db.rows("SELECT 1 FROM job WHERE key = 'a' FOR UPDATE")
        await asyncio.create_task(work.runner().run_all(), context=Context())
        assert work.done == ["b"]
    await work.runner().run_all()
    assert work.done == ["b", "a"]


async def test_a_lock_that_is_not_granted_is_no_failure(db_clock):
    work = Work(tries=1)

    async def locked(_: Sequence[Claimed]) -> None:
        raise db.Locked("canceling statement due to lock timeout")

    work.kind = work.kind._replace(run=locked)
    await add("a")
    await work.runner().run_all()
    assert await jobs() == {"a": ("scheduled", 0)}


async def test_what_is_added_while_it_is_being_done_is_done_again():
    work = Work()

    async def run(batch: Sequence[Claimed]) -> None:
        work.calls.append([job.key for job in batch])
        if len(work.calls) == 1:
            await add("a")

    work.kind = work.kind._replace(run=run)
    await add("a")
    await work.runner().run_all()
    assert work.calls == [["a"], ["a"]]
    assert await jobs() == {}


async def test_no_end_of_a_job_is_lost_beside_those_who_add_it():
    over = False

    async def adding() -> None:
        while not over:
            await add("a")

    adders = [asyncio.create_task(adding(), context=Context()) for _ in range(3)]
    for number in range(150):
        claimed, _ = await queue.claim([queue.Room("test", 1, clock.from_unix(0), "", 10)], f"{number}")
        left = [job.key for job in claimed.get("test", ())]
        while left:
            _, left = await queue.finish("test", [queue.Ended("a")], f"{number}", 3)
        assert await db.value("SELECT count(*) FROM job WHERE owner = $1", f"{number}") == 0
    over = True
    await asyncio.gather(*adders)


async def test_what_the_process_does_to_its_jobs_waits_for_nobody_who_adds():
    """Else the one waits for a row of the other, and both for ever."""
    await add("a", "b")
    await queue.claim([queue.Room("test", 2, clock.from_unix(0), "", 10)], "mine")

    async def keep() -> None:
        await queue.keep([("test", "a"), ("test", "b")], "mine")
        await queue.put_off("test", ["a", "b"], "mine", 60)

    async with db.transaction():
        await add("b")
        await asyncio.create_task(keep(), context=Context())
    assert await jobs() == {"a": ("scheduled", 0), "b": ("running", 0)}


async def test_a_job_goes_on_where_it_was():
    places = []

    async def run(batch: Sequence[Claimed]) -> Again | None:
        places.append(batch[0].place)
        return Again(place="x" * len(places)) if len(places) < 3 else None

    work = Work()
    work.kind = work.kind._replace(run=run)
    await add("a")
    await work.runner().run_all()
    assert places == ["", "x", "xx"]


async def test_a_kind_rests_in_a_process_while_what_it_needs_is_away():
    work = Work()
    work.answer = Again(600, rest=600)
    await add("a", "b", "c")
    for _ in range(2):
        runner = work.runner()
        await runner.run_all()
        await runner.run_all()
    assert len(work.done) == 2  # one in each
    assert sorted(await jobs()) == ["a", "b", "c"]


async def test_the_jobs_of_a_dead_process_are_done_when_its_lease_has_ended(db_clock):
    work = Work()
    await add("a")
    claimed, _ = await queue.claim([queue.Room("test", 1, clock.from_unix(0), "", 10)], "dead")
    assert [job.key for job in claimed["test"]] == ["a"]
    await work.runner().run_all()
    assert work.done == []
    assert await jobs() == {"a": ("running", 0)}
    await db_clock.forward(queue.LEASE + 1)
    await work.runner().run_all()
    assert work.done == ["a"]
    given_up, left = await queue.finish("test", [queue.Ended("a")], "dead", 3)  # the dead one comes back
    assert (given_up, left) == ([], [])


async def test_what_a_stopped_process_has_not_finished_is_begun_by_another_at_once(monkeypatch):
    """And counts as no death: each release would bring it nearer to being given up."""
    begun, stop, begun_again = asyncio.Event(), asyncio.Event(), []

    async def hang(_: Sequence[Claimed]) -> None:
        begun.set()
        await asyncio.Event().wait()

    async def run(batch: Sequence[Claimed]) -> None:
        begun_again.extend(batch)

    monkeypatch.setattr(runner, "_GRACE", 0.0)
    work = Work()
    work.kind = work.kind._replace(run=hang)
    await add("a")
    running = asyncio.create_task(work.runner().run(stop))
    await begun.wait()
    stop.set()
    await running
    assert await jobs() == {"a": ("waiting", 0)}
    work.kind = work.kind._replace(run=run)
    await work.runner().run_all()
    assert begun_again == [Claimed("a", "ws_a")]


async def test_what_came_of_a_job_is_noted_when_the_database_is_back(caplog):
    """Else it is done twice, and counts as a death of its process."""
    work = Work()
    await add("a")
    running = work.runner()
    async with refused("job", "DELETE", "true", "53100"):
        await running.round()
        await eventually(lambda: "job.not_noted" in caplog.text)
    await eventually(lambda: not running._calls)
    assert await jobs() == {}
    assert work.done == ["a"]


async def test_a_job_that_its_own_process_has_dropped_is_not_what_that_died_of(db_clock):
    """The answer to a claim was lost: the process lives."""
    rooms = [queue.Room("test", 2, clock.from_unix(0), "", 1)]
    await add("a", "b")
    await queue.claim(rooms, "mine")
    await db_clock.forward(queue.LEASE + 1)
    claimed, _ = await queue.claim(rooms, "mine")
    assert sorted(claimed["test"]) == [Claimed("a", "ws_a"), Claimed("b", "ws_a")]


async def test_a_job_that_kills_its_process_is_given_up_and_what_was_claimed_with_it_is_done(db_clock):
    """Process after process: nothing that one has begun is finished once it has begun `d`."""
    done = []
    await add("a", "b", "c", "d", "e")
    for process in range(30):
        rooms = [queue.Room("test", 2, clock.from_unix(0), "", 5)]
        while jobs_of := (await queue.claim(rooms, f"{process}"))[0].get("test"):
            assert sum(job.died for job in jobs_of) <= 1
            keys = [job.key for job in jobs_of]
            if "d" in keys:
                break
            done += keys
            await queue.finish("test", [queue.Ended(key) for key in keys], f"{process}", 5)
        await db_clock.forward(queue.LEASE + 1)
    assert sorted(done) == ["a", "b", "c", "e"]
    assert await jobs() == {"d": ("failed", 5)}
    assert await db.value("SELECT error FROM job") == "its process died each time"


async def test_rows_that_somebody_holds_keep_other_jobs_waiting_for_seconds_only(workspace, servers, monkeypatch):
    """As many as a kind may have under way at once, however long a statement may take."""
    monkeypatch.setitem(LIMITS, "jobs", None)
    holder = await asyncpg.connect(servers.database_url)

    async def run(batch: Sequence[Claimed]) -> None:
        if batch[0].key.startswith("held"):
            await db.rows("UPDATE workspace SET name = name WHERE id = $1", batch[0].workspace)
        work.calls.append([batch[0].key])

    work = Work()
    work.kind = work.kind._replace(run=run, at_once=2)
    await queue.add_all("test", [queue.Offer(key, workspace) for key in ("held 1", "held 2")])
    await add("z")
    async with moved_to(servers.database_url, "jobs"), holder.transaction():
        await holder.execute("SELECT FROM workspace FOR UPDATE")
        await work.runner().run_all()
    await holder.close()
    assert work.calls == [["z"]]
    assert await jobs() == {"held 1": ("scheduled", 0), "held 2": ("scheduled", 0)}


async def test_those_whose_process_died_are_done_one_after_the_other(db_clock):
    work = Work(batch=3)
    await add("a", "b", "c")
    await queue.claim([queue.Room("test", 3, clock.from_unix(0), "", 10)], "dead")
    await db_clock.forward(queue.LEASE + 1)
    await work.runner().run_all()
    assert sorted(work.calls) == [["a"], ["b"], ["c"]]


async def test_what_is_under_way_for_long_is_kept(db_clock):
    work, gate = Work(), asyncio.Event()

    async def run(batch: Sequence[Claimed]) -> None:
        work.calls.append([job.key for job in batch])
        await gate.wait()

    work.kind = work.kind._replace(run=run)
    await add("a")
    runner = work.runner()
    await runner.round()
    await db_clock.forward(queue.LEASE - 1)
    runner._kept = float("-inf")
    await runner.round()
    await db_clock.forward(2)
    await work.runner().round()
    assert [(one.waiting, one.oldest_seconds) for one in await reads.summaries()] == [(1, 0.0)]
    gate.set()
    await asyncio.gather(*runner._calls)
    assert work.calls == [["a"]]


async def test_one_whose_process_died_and_that_takes_long_holds_up_no_other(db_clock):
    short, long, gate = Work(), Work(), asyncio.Event()

    async def run(batch: Sequence[Claimed]) -> None:
        await gate.wait()

    both = Runner(nobody, {"test": short.kind, "long": long.kind._replace(name="long", run=run)})
    await queue.add_all("long", [Offer("", "")])
    await add("a")
    rooms = [queue.Room(kind, 1, clock.from_unix(0), "", 10) for kind in ("long", "test")]
    await queue.claim(rooms, "dead")
    await db.rows("UPDATE job SET tries = 1 WHERE kind = 'test'")  # the other comes first
    await db_clock.forward(queue.LEASE + 1)
    await both.round()
    await both.round()
    assert (len(both._calls), short.done) == (1, [])
    both._suspects = dict.fromkeys(both._suspects, float("-inf"))  # a lease later
    await both.round()
    await eventually(lambda: short.done == ["a"])
    gate.set()
    await asyncio.gather(*both._calls)


async def test_suspended_workspaces_rest(db_clock):
    async def suspended(workspaces: Collection[str]) -> Collection[str]:
        return {"ws_a"} & set(workspaces)

    work = Work()
    await add("a")
    await add("b", workspace="ws_b")
    await work.runner(suspended).run_all()
    assert work.done == ["b"]
    assert await jobs() == {"a": ("scheduled", 0)}
    await db_clock.forward(301)
    await work.runner().run_all()
    assert work.done == ["b", "a"]


async def test_a_job_that_has_failed_is_not_late_while_its_workspace_is_suspended(db_clock):
    async def suspended(workspaces: Collection[str]) -> Collection[str]:
        return workspaces

    work = Work()
    await add("a")
    await db.rows("UPDATE job SET tries = 1, error = 'no answer', since = since - interval '1 hour'")
    assert [round(one.oldest_seconds) for one in await reads.summaries()] == [3600]
    await work.runner(suspended).run_all()
    assert [(one.oldest_seconds, one.failing) for one in await reads.summaries()] == [(0.0, 0)]
    await db_clock.forward(301)
    await work.runner().run_all()
    assert work.done == ["a"]


async def test_a_call_that_hangs_is_ended():
    async def hang(_: Sequence[Claimed]) -> None:
        await asyncio.Event().wait()

    work = Work()
    work.kind = work.kind._replace(run=hang, limit=0.01)
    await add("a")
    await work.runner().run_all()
    assert await jobs() == {"a": ("scheduled", 1)}


async def test_a_job_that_is_due_later_waits(db_clock):
    work = Work()
    later = await db.value("SELECT now()") + timedelta(minutes=5)
    await queue.add("test", "a", "ws_a", later)
    await work.runner().run_all()
    assert work.done == []
    assert [one.waiting for one in await reads.summaries()] == [0]
    await db_clock.forward(301)
    await work.runner().run_all()
    assert work.done == ["a"]


async def test_a_kind_that_this_version_does_not_know_is_left_alone():
    await queue.add("other", "a", "ws_a")
    await Work().runner().run_all()
    assert [(job.kind, job.state) for job in await reads.listed()] == [("other", "waiting")]


async def test_a_chore_is_done_by_one_process_and_again_later(db_clock, monkeypatch):
    monkeypatch.setattr(kinds, "KINDS", {})
    done = []

    @kinds.chore("sweep", every=3600)
    async def sweep() -> None:
        done.append(1)

    async def run() -> None:
        await Runner(nobody, kinds.KINDS).run_all()

    await asyncio.gather(run(), run())
    assert done == [1]
    await db_clock.forward(3601)
    await asyncio.gather(run(), run())
    assert done == [1, 1]


async def test_what_is_found_is_done_once_and_not_added_again_when_it_was_given_up(db_clock, monkeypatch):
    monkeypatch.setattr(kinds, "KINDS", {})
    work = Work()
    work.failing = {"b"}

    async def find() -> list[Offer]:
        return [Offer("a", "ws_a"), Offer("b", "ws_b")]

    @kinds.job("swept", find=find, every=10, tries=1)
    async def one(job: Claimed) -> None:
        await work.run([job])

    for _ in range(3):
        await Runner(nobody, kinds.KINDS).run_all()
        await db_clock.forward(11)
    assert work.done == ["a", "a", "a"]
    assert work.calls.count(["b"]) == 1
    assert [(job.key, job.state) for job in await reads.listed("swept")] == [("b", "failed")]


async def test_a_look_for_work_is_never_given_up(db_clock, monkeypatch):
    monkeypatch.setattr(kinds, "KINDS", {})

    async def find() -> list[Offer]:
        raise KeyError("no")

    kinds.job("swept", find=find, every=10, tries=2)(None)
    for _ in range(3):
        await Runner(nobody, kinds.KINDS).run_all()
        await db_clock.forward(600)
    assert [(job.kind, job.state, job.tries) for job in await reads.listed()] == [
        ("swept.find", "waiting", 3)
    ]  # due again


async def test_what_fails_for_weeks_is_still_tried(db_clock):
    work = Work(tries=2**15 - 1)
    work.failing = {"a"}
    await add("a")
    for tries in (1023, 1024, 2**15 - 3):
        await db.rows("UPDATE job SET tries = $1", tries)
        await work.runner().run_all()
        assert await jobs() == {"a": ("scheduled", tries + 1)}
        await db_clock.forward(301)


async def test_two_kinds_cannot_have_one_name(monkeypatch):
    monkeypatch.setattr(kinds, "KINDS", {})
    kinds.chore("sweep", every=1)(None)
    with pytest.raises(ValueError, match="two kinds of jobs named sweep"):
        kinds.chore("sweep", every=1)(None)


async def test_the_jobs_of_a_workspace_are_deleted_in_batches():
    await add("a", "b", "c")
    await add("d", workspace="ws_b")
    assert [await queue.delete_batch("ws_a", 2) for _ in range(3)] == [2, 1, 0]
    assert await jobs() == {"d": ("waiting", 0)}
