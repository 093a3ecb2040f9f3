"""Sending many things again: what is chosen, how fast, and that nothing is sent twice whoever is killed when."""

import pytest

from leadwire.delivery import redrive_job
from leadwire.domain.webhooks import changes, redrives
from leadwire.domain.webhooks.redrives import Selection
from leadwire.infrastructure import db, ids
from leadwire.infrastructure.errors import Conflict, Invalid, NotFound
from tests import jobs, make
from tests.delivery.wired import endpoint


async def people(workspace, bot, count: int) -> None:
    for _ in range(count):
        await make.somebody(workspace, bot)


async def dead(workspace, bot, wire, receiver, count: int, *kinds: str) -> str:
    """An endpoint with `count` dead letters of each kind; it answers well again."""
    made = await endpoint(workspace, receiver.url, *kinds)
    receiver.answer = 410  # given up at once
    await people(workspace, bot, count)
    await wire.turn()
    receiver.answer = 204
    receiver.deliveries.clear()
    await changes.enable(workspace, made.id)
    return made.id


async def states() -> dict[str, int]:
    found = await db.rows("SELECT state, count(*) FROM every_delivery GROUP BY state")
    return {row["state"]: row["count"] for row in found}


async def test_a_job_sends_every_dead_letter_again_and_finishes(workspace, bot, wire, receiver, db_clock):
    await dead(workspace, bot, wire, receiver, 3)
    assert await redrives.count(workspace, Selection()) == 3
    job = await redrives.start(workspace, Selection(), 1000)
    assert (job.state, job.total, job.done) == ("running", 3, 0)
    assert await jobs.redrive() == 3
    assert await redrives.one(workspace, job.id) == await redrives.one(None, job.id)
    assert (await redrives.one(workspace, job.id)).state == "finished"
    await wire.turn()
    assert await states() == {"delivered": 3}
    assert [one.attempt for one in receiver.deliveries] == [1, 1, 1]
    await db_clock.forward(5)
    assert await jobs.redrive() == 0
    assert await redrives.count(workspace, Selection()) == 0


async def test_its_rate_is_kept_and_a_long_rest_is_not_made_up_for(workspace, bot, wire, receiver, db_clock):
    await dead(workspace, bot, wire, receiver, 30)
    job = await redrives.start(workspace, Selection(), 2)
    moved = [await jobs.redrive()]
    for seconds in (1, 1, 3600):
        await db_clock.forward(seconds)
        moved.append(await jobs.redrive())
    assert moved == [2, 2, 2, 10], "two a second; after an hour without a relay, five seconds' worth"
    assert (await redrives.one(workspace, job.id)).done == 16


async def test_a_job_goes_on_when_the_clock_is_put_back(workspace, bot, wire, receiver, db_clock):
    await dead(workspace, bot, wire, receiver, 9)
    await redrives.start(workspace, Selection(), 1)
    moved = [await jobs.redrive()]
    for seconds in (-3600, 1):
        await db_clock.forward(seconds)
        moved.append(await jobs.redrive())
    assert moved == [1, 5, 1]


async def test_pausing_resuming_and_cancelling(workspace, bot, wire, receiver, db_clock):
    await dead(workspace, bot, wire, receiver, 6)
    job = await redrives.start(workspace, Selection(), 2)
    assert await jobs.redrive() == 2
    await redrives.move(workspace, job.id, "pause")
    await db_clock.forward(10)
    assert await jobs.redrive() == 0
    await redrives.move(workspace, job.id, "resume")
    assert await jobs.redrive() == 0, "the rest is not made up for"
    await db_clock.forward(1)
    assert await jobs.redrive() == 2
    assert (await redrives.move(workspace, job.id, "cancel")).state == "cancelled"
    await db_clock.forward(10)
    assert await jobs.redrive() == 0
    assert await states() == {"waiting": 4, "dead": 2}
    for step in ("pause", "resume", "cancel"):
        with pytest.raises(Conflict):
            await redrives.move(workspace, job.id, step)


async def test_a_step_that_is_cut_off_is_taken_again_whole(workspace, bot, wire, receiver, monkeypatch):
    """The relay dies between the batch and the job's place: both are undone, and nothing is sent twice."""
    await dead(workspace, bot, wire, receiver, 4)
    job = await redrives.start(workspace, Selection(), 1000)
    with monkeypatch.context() as patched:
        patched.setattr(redrive_job._STEPPED, "text", f"{redrive_job._STEPPED.text} AND 1 / 0 = 1")
        with pytest.raises(Exception, match="division by zero"):
            await redrive_job.step(job.id)
    assert await states() == {"dead": 4}
    assert await jobs.redrive() == 4
    assert (await redrives.one(workspace, job.id)).done == 4
    assert await db.value("SELECT max(generation) FROM every_delivery") == 2


async def test_what_dies_again_while_the_job_runs_is_not_sent_a_third_time(workspace, bot, wire, receiver, db_clock):
    made = await dead(workspace, bot, wire, receiver, 3)
    await redrives.start(workspace, Selection(), 1)
    receiver.answer = 410
    for _ in range(6):
        await jobs.redrive()
        await wire.turn()
        await changes.enable(workspace, made)
        await db_clock.forward(1)
    assert len(receiver.deliveries) == 3
    assert await states() == {"dead": 3}


async def test_a_selection_by_endpoint_kind_outcome_and_time(workspace, bot, wire, receiver, db_clock):
    one = await dead(workspace, bot, wire, receiver, 1, "lead.created", "conversation.started")
    middle = ids.moment(ids.new("evt"))
    await db.rows("SELECT pg_sleep(0.002)")  # the next id is of a later millisecond
    await changes.disable(workspace, one)
    other = await dead(workspace, bot, wire, receiver, 1)
    counted = [
        await redrives.count(workspace, selection)
        for selection in (
            Selection(),
            Selection(endpoint_id=one),
            Selection(endpoint_id=other),
            Selection(kinds=["lead.created"]),
            Selection(kinds=["lead.deleted"]),
            Selection(outcomes=["gone"]),
            Selection(outcomes=["timeout", "dns_error"]),
            Selection(until=middle),
            Selection(since=middle),
        )
    ]
    assert counted == [3, 2, 1, 2, 0, 3, 0, 2, 1]
    job = await redrives.start(workspace, Selection(endpoint_id=one, kinds=["lead.created"]), 1000)
    assert await jobs.redrive() == job.total == 1


async def test_a_replay_sends_every_event_of_the_time_to_one_endpoint(workspace, bot, wire, receiver, db_clock):
    """Also those it was never owed: an endpoint made later catches up."""
    early = await endpoint(workspace, receiver.url)
    await people(workspace, bot, 2)
    await wire.turn()
    late = await endpoint(workspace, receiver.url)
    await people(workspace, bot, 1)
    await wire.turn()
    receiver.deliveries.clear()
    job = await redrives.start(workspace, Selection(endpoint_id=late.id, replay=True), 1000)
    assert job.total == 3
    assert await jobs.redrive() == 3
    await wire.turn()
    assert len({one.webhook_id for one in receiver.deliveries}) == len(receiver.deliveries) == 3
    assert (
        await db.value("SELECT count(*) FROM every_delivery WHERE endpoint_id = $1 AND generation > 1", early.id) == 0
    )


async def test_a_replay_ends_with_what_there_was_when_somebody_asked(workspace, bot, wire, receiver, db_clock):
    """Or what comes meanwhile would be sent twice, and without an end where it comes faster than the replay goes."""
    made = await endpoint(workspace, receiver.url)
    await people(workspace, bot, 2)
    await wire.turn()
    job = await redrives.start(workspace, Selection(endpoint_id=made.id, replay=True), 1)
    for _ in range(3):
        await jobs.redrive()
        await people(workspace, bot, 1)
        await wire.turn()
        await db_clock.forward(1)
    done = await redrives.one(workspace, job.id)
    assert (done.state, done.done, done.total) == ("finished", 2, 2)
    assert len(receiver.deliveries) == 2 + 2 + 3


async def test_a_replay_leaves_alone_what_is_on_its_way(workspace, bot, wire, receiver):
    made = await endpoint(workspace, receiver.url)
    await people(workspace, bot, 1)
    await wire.relay()
    await redrives.start(workspace, Selection(endpoint_id=made.id, replay=True), 1000)
    await jobs.redrive()
    assert await states() == {"queued": 1}
    await wire.deliver()
    assert len(receiver.deliveries) == 1


async def test_another_workspace_has_no_part_in_it(workspace, bot, wire, receiver, other_workspace):
    made = await dead(workspace, bot, wire, receiver, 2)
    job = await redrives.start(workspace, Selection(), 1)
    assert await redrives.count(other_workspace, Selection()) == 0
    assert await redrives.listed(other_workspace) == []
    for attempt in (
        redrives.one(other_workspace, job.id),
        redrives.move(other_workspace, job.id, "cancel"),
        redrives.count(other_workspace, Selection(endpoint_id=made)),
    ):
        with pytest.raises(NotFound):
            await attempt


@pytest.mark.parametrize(
    "selection",
    [Selection(replay=True), Selection(kinds=["lead.eaten"]), Selection(outcomes=["sadness"])],
)
async def test_a_selection_that_means_nothing_is_refused(workspace, selection):
    with pytest.raises(Invalid):
        await redrives.start(workspace, selection)
    for rate in (0, -1, 1001):
        with pytest.raises(Invalid):
            await redrives.start(workspace, Selection(), rate)
