"""A delivery is in one worker's hands at a time, whoever is slow, dies, or is told of it twice."""

import asyncio

from leadwire.delivery import streams
from leadwire.delivery.streams import push
from leadwire.delivery.worker.loop import Deliverer
from leadwire.delivery.worker.record import record
from leadwire.infrastructure import db
from tests import make
from tests.delivery.interleaved import apart
from tests.delivery.test_delivery import broken, states
from tests.delivery.wired import endpoint
from tests.waiting import eventually


async def entries(workspace, bot, wire, receiver):
    """One delivery, as two workers read it."""
    await endpoint(workspace, receiver.url)
    await make.lead(workspace, bot)
    await wire.relay()
    (entry,) = await wire.read()
    return [entry]


async def test_another_claim_is_stale_while_the_owner_lives(workspace, bot, wire, receiver, db_clock):
    """Whatever the database's clock says. Of one that is gone, its lease has to end, too: it may just have woken up."""
    read = await entries(workspace, bot, wire, receiver)
    assert len(await wire.claim_as("first", read)) == 1
    assert await wire.claim_as("second", read, "first") == []
    await db_clock.forward(wire.settings.lease + 1)
    assert await wire.claim_as("second", read, "another") == []
    assert len(await wire.claim_as("second", read, "first")) == 1
    assert await wire.claim_as("first", read) == [], "now it is the other one's"


async def test_a_worker_that_wakes_after_another_has_claimed_changes_nothing(workspace, bot, wire, receiver, db_clock):
    """Its POST was made, so it is kept as an attempt; it does not count."""
    read = await entries(workspace, bot, wire, receiver)
    late = await wire.post(await wire.claim_as("first", read))
    await db_clock.forward(wire.settings.lease + 1)
    again = await wire.claim_as("second", read, "first")
    await record(late, "first")
    assert await states() == {"queued": 1}
    receiver.answer = 500
    await record(await wire.post(again), "second")
    assert await states() == {"waiting": 1}
    kept = await db.rows("SELECT counted, number, outcome FROM attempt ORDER BY counted")
    assert [tuple(row) for row in kept] == [(False, 1, "delivered"), (True, 1, "http_5xx")]
    assert await db.value("SELECT attempts FROM delivery") == 1
    assert await broken(wire) == []


async def test_one_that_wakes_before_anybody_has_claimed_still_counts(workspace, bot, wire, receiver, db_clock):
    read = await entries(workspace, bot, wire, receiver)
    late = await wire.post(await wire.claim_as("first", read))
    await db_clock.forward(wire.settings.lease + 1)
    await record(late, "first")
    assert await states() == {"delivered": 1}
    assert await wire.claim_as("second", read) == []


async def test_a_claim_waits_for_no_other_and_makes_no_second_post(workspace, bot, wire, receiver):
    """The other one has not committed yet: a claim that waited for it might go on after the lease."""
    read = await entries(workspace, bot, wire, receiver)
    async with db.transaction():
        jobs = await wire.claim_as("first", read)
        assert await apart(wire.claim_as("second", read)) == []
    assert await wire.claim_as("second", read) == []
    await record(await wire.post(jobs), "first")
    assert await states() == {"delivered": 1}
    assert len(receiver.deliveries) == 1


async def test_a_claim_of_what_somebody_has_locked_is_left_to_reconcile(workspace, bot, wire, receiver, db_clock):
    read = await entries(workspace, bot, wire, receiver)
    async with db.transaction():
        await db.rows("SELECT 1 FROM delivery FOR UPDATE")
        assert await apart(wire.claim_as("first", read)) == []
    await streams.done(wire.redis, read)
    await db_clock.forward(31)
    assert await wire.reconcile() == 1
    await wire.deliver()
    assert len(receiver.deliveries) == 1


async def test_what_somebody_has_locked_comes_back_as_soon_as_they_let_go(workspace, bot, wire, receiver):
    """A worker passes it over, and reads it again and again: nobody has to find it lost."""
    await endpoint(workspace, receiver.url)
    await make.lead(workspace, bot)
    await wire.relay()
    worker, stop = Deliverer(wire.redis, wire.transport, wire.settings), asyncio.Event()
    async with db.transaction():
        await db.rows("SELECT 1 FROM delivery FOR UPDATE")
        running = apart(worker.run(stop))
        await eventually(lambda: added(wire, 3))
        assert receiver.deliveries == []
    await receiver.received(1)
    await eventually(lambda: apart(states_are(delivered=1)))
    stop.set()
    await running
    assert len(receiver.deliveries) == 1
    assert await broken(wire) == []
    assert [one.length for one in await streams.states(wire.redis, wire.settings.stream_shards)] == [0, 0, 0, 0]


async def added(wire, count: int) -> bool:
    """Whether so many entries have been added to the streams in all."""
    made = [await wire.redis.xinfo_stream(name) for name in streams.names(wire.settings.stream_shards)]
    return sum(stream["entries-added"] for stream in made) >= count


async def states_are(**expected: int) -> bool:
    return await states() == expected


async def test_an_add_that_was_done_and_seemed_to_fail_makes_one_post(workspace, bot, wire, receiver, monkeypatch):
    """It is done again: there are two entries."""
    await endpoint(workspace, receiver.url)
    await wire.relay()
    honest, failed = streams.add, []

    async def add(redis, keys, shards, **options):
        await honest(redis, keys, shards, **options)
        if not failed:
            failed.append(True)
            raise TimeoutError

    with monkeypatch.context() as patched:
        patched.setattr(streams, "add", add)
        await make.lead(workspace, bot)
        await wire.relay()
    assert push.is_open()
    first, second = await wire.read()
    assert first.key == second.key
    jobs = await wire.claim_as("first", [first])
    assert await wire.claim_as("second", [second]) == []
    await record(await wire.post(jobs), "first")
    assert await wire.claim_as("second", [second]) == []
    assert len(receiver.deliveries) == 1


async def test_streams_that_were_looked_at_before_a_pause_make_nothing_look_lost(
    workspace, bot, wire, receiver, db_clock, monkeypatch
):
    """They were empty then; meanwhile something was queued, and is in a stream."""
    await endpoint(workspace, receiver.url)
    await wire.relay()
    look = streams.pending

    async def pending(*streams_seen):
        found = await look(*streams_seen)
        await make.lead(workspace, bot)
        await wire.relay()
        await db_clock.forward(300)
        return found

    monkeypatch.setattr(streams, "pending", pending)
    assert await wire.reconcile() == 0
    assert await states() == {"queued": 1}


async def test_what_reconcile_adds_again_makes_one_post(workspace, bot, wire, receiver, db_clock):
    """It was not lost, only slow: both entries are read."""
    await endpoint(workspace, receiver.url)
    await make.lead(workspace, bot)
    await wire.relay()
    await db_clock.forward(31)
    assert await wire.reconcile() == 1
    assert await wire.reconcile() == 0, "it counts as queued from then on"
    assert await states() == {"queued": 1}
    assert len(await wire.deliver()) == 1
    assert await wire.turn() == []
    assert len(receiver.deliveries) == 1
    assert await broken(wire) == []
