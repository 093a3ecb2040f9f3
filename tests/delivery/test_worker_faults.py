"""Break each step of a worker exactly where it can break: nothing is lost, and nothing is sent without need."""

import asyncio
import time
from types import SimpleNamespace

import msgspec

from leadwire.delivery import streams
from leadwire.delivery.relay.admit import admit
from leadwire.delivery.streams import consumers
from leadwire.delivery.worker import health, heartbeat, reader, recorder
from leadwire.delivery.worker.health import is_informative
from leadwire.delivery.worker.heartbeat import Heartbeat
from leadwire.delivery.worker.loop import Deliverer
from leadwire.delivery.worker.observe import Liveness
from leadwire.delivery.worker.record import record
from leadwire.delivery.worker.recorder import Recorder
from leadwire.domain.webhooks import changes as webhooks_changes
from leadwire.domain.webhooks import reads as webhooks
from leadwire.infrastructure import db
from tests import make
from tests.delivery.interleaved import apart
from tests.delivery.test_delivery import broken, states
from tests.delivery.wired import begin, endpoint
from tests.waiting import eventually


async def test_a_worker_that_dies_after_record_and_before_ack_causes_no_second_post(workspace, bot, wire, receiver):
    await endpoint(workspace, receiver.url)
    await make.lead(workspace, bot)
    await wire.relay()
    done = await wire.post(await wire.claim())
    await record(done, wire.consumer)  # and dies
    taken, *_ = await consumers.reclaim(wire.redis, "other", wire.settings.stream_shards, 0, 10, {wire.consumer})
    assert len(taken) == 1
    assert await wire.claim_as("other", taken) == []
    assert len(receiver.deliveries) == 1


async def test_outcomes_are_recorded_while_redis_keeps_silent(workspace, bot, wire, receiver, monkeypatch):
    """Their leases would end while one waits for Redis, and another worker would send the same again."""
    answers, acknowledge = asyncio.Event(), streams.done

    async def silent(*arguments):
        await answers.wait()
        await acknowledge(*arguments)

    for _ in range(3):
        await endpoint(workspace, receiver.url)
    await make.lead(workspace, bot)
    await wire.relay()
    done = await wire.post(await wire.claim())
    assert len(done) == 3  # there are two kinds of outcomes, each with its queue
    monkeypatch.setattr(streams, "done", silent)
    held = {one.job.entry.key: one.job.entry for one in done}
    writing = Recorder(wire.redis, wire.consumer, held, Liveness(30))
    recording = asyncio.create_task(writing.run())
    for number, one in enumerate(done, 1):
        writing.put(one)
        await eventually(lambda number=number: delivered(number))
    answers.set()
    writing.end()
    await recording
    assert sum(load.pending for load in await streams.states(wire.redis, wire.settings.stream_shards)) == 0


async def test_outcomes_wait_for_others_until_there_are_enough_or_the_worker_stops(
    workspace, bot, wire, receiver, monkeypatch
):
    monkeypatch.setattr(recorder, "_GATHER", 3600.0)
    monkeypatch.setattr(recorder, "_ENOUGH", 2)
    for _ in range(4):
        await endpoint(workspace, receiver.url)
    await admit()
    await make.lead(workspace, bot)
    await wire.relay()
    done = await wire.post(await wire.claim())
    assert not any(is_informative(one) for one in done)
    held = {one.job.entry.key: one.job.entry for one in done}
    writing = Recorder(wire.redis, wire.consumer, held, Liveness(30))
    recording = asyncio.create_task(writing.run())
    for one in done[:3]:  # the first is taken, and two wait with it
        writing.put(one)
    await eventually(lambda: delivered(3))
    writing.put(done[3])
    writing.end()
    await recording
    assert await delivered(4)


async def delivered(count):
    return (await states()).get("delivered") == count


async def test_an_outcome_known_after_redis_forgot_its_delivery_still_counts(
    workspace, bot, wire, receiver, redis, db_clock
):
    await endpoint(workspace, receiver.url)
    await make.lead(workspace, bot)
    await wire.relay()
    in_hand = await wire.post(await wire.claim())
    await redis.flushall()
    await streams.prepare(redis, wire.settings.stream_shards)
    await db_clock.forward(31)
    assert await wire.reconcile() == 0, "a worker has it"
    await db_clock.forward(wire.settings.lease)
    assert await wire.reconcile() == 1
    await wire.settle(in_hand)
    assert await db.value("SELECT state FROM every_delivery") == "delivered"
    assert await wire.turn() == []
    assert len(receiver.deliveries) == 1


async def test_a_worker_that_cannot_record_does_not_take_over_from_itself(
    workspace, bot, wire, receiver, db_clock, monkeypatch
):
    """Its lease ends while the outcome waits for the database: one POST, one attempt that counts."""
    monkeypatch.setattr(reader, "_BLOCK_MS", 1)
    monkeypatch.setattr(Heartbeat, "covers", lambda *_: True)
    impatient = msgspec.structs.replace(wire.settings, lease=0.01)
    await endpoint(workspace, receiver.url)
    await make.lead(workspace, bot)
    await wire.relay()
    receiver.hang()
    stop = asyncio.Event()
    worker = asyncio.create_task(Deliverer(wire.redis, wire.transport, impatient).run(stop))
    await receiver.received(1)
    await db_clock.forward(61)
    async with db.transaction():
        await db.rows("SELECT 1 FROM delivery FOR UPDATE")
        receiver.release()
        await eventually(lambda: overdue(wire, impatient.lease))
        assert await taken(wire, 1)
        assert not await taken(wire, 2)
    await eventually(lambda: db.value("SELECT count(*) = 1 FROM every_delivery WHERE state = 'delivered'"))
    stop.set()
    await worker
    assert len(receiver.deliveries) == 1
    assert await db.value("SELECT count(*) FROM attempt") == 1
    assert await broken(wire) == []


async def test_a_stopping_worker_does_not_wait_for_the_database_for_ever(workspace, bot, wire, receiver):
    await endpoint(workspace, receiver.url)
    await make.lead(workspace, bot)
    await wire.relay()
    receiver.hang()
    stop = asyncio.Event()
    hasty = msgspec.structs.replace(wire.settings, delivery_timeout=0.2)
    worker = asyncio.create_task(Deliverer(wire.redis, wire.transport, hasty).run(stop))
    await receiver.received(1)
    async with db.transaction():
        await db.rows("SELECT 1 FROM delivery FOR UPDATE")
        receiver.release()
        stop.set()
        await asyncio.wait_for(worker, 240)
    assert await states() == {"queued": 1}  # still owed, and its entry still there for another worker
    assert sum(load.pending for load in await streams.states(wire.redis, wire.settings.stream_shards)) == 1


async def test_what_waits_for_an_endpoint_that_somebody_has_locked_is_neither_poison_nor_waited_for_at_the_end(
    workspace, bot, wire, receiver, db_clock, monkeypatch
):
    monkeypatch.setattr(reader, "_BLOCK_MS", 1)
    impatient = msgspec.structs.replace(wire.settings, lease=0.01, delivery_timeout=0.005)
    made = await endpoint(workspace, receiver.url)
    await make.lead(workspace, bot)
    await wire.relay()
    await webhooks_changes.disable(workspace, made.id)
    stop = asyncio.Event()
    async with db.transaction():
        await db.rows("SELECT 1 FROM webhook_endpoint FOR NO KEY UPDATE")
        worker = apart(Deliverer(wire.redis, wire.transport, impatient).run(stop))
        await eventually(lambda: overdue(wire, impatient.lease))
        assert not await taken(wire, 2)
        stop.set()
        await asyncio.wait_for(worker, 240)
    assert await states() == {"queued": 1}


async def overdue(wire, lease):
    """Whether an entry was held for many times the lease."""
    held = [await wire.redis.xpending_range(stream, streams.GROUP, "-", "+", 10) for stream in names(wire)]
    return any(entry["time_since_delivered"] > 20_000 * lease for entries in held for entry in entries)


async def taken(wire, times):
    """Whether an entry was handed out so many times."""
    held = [await wire.redis.xpending_range(stream, streams.GROUP, "-", "+", 10) for stream in names(wire)]
    return any(entry["times_delivered"] >= times for entries in held for entry in entries)


def names(wire):
    return streams.names(wire.settings.stream_shards)


async def test_what_a_worker_reads_as_it_is_told_to_stop_does_not_wait_for_its_lease(workspace, bot, wire, receiver):
    await endpoint(workspace, receiver.url)
    await make.lead(workspace, bot)
    await wire.relay()
    stop = asyncio.Event()
    worker = Deliverer(wire.redis, wire.transport, wire.settings)
    reading = worker._reader.read

    async def take():
        entries = await reading()
        stop.set()
        return entries

    worker._reader.read = take
    await asyncio.wait_for(apart(worker.run(stop)), 240)
    assert await states() == {"delivered": 1}
    assert sum(load.length for load in await streams.states(wire.redis, wire.settings.stream_shards)) == 0


async def test_a_stopping_worker_gives_back_what_it_has_not_begun(workspace, bot, wire, receiver):
    """No other worker has to wait until it is gone."""
    await endpoint(workspace, receiver.url)
    receiver.hang()
    for _ in range(3):
        await make.somebody(workspace, bot)
    await wire.relay()
    stop = asyncio.Event()
    narrow = msgspec.structs.replace(wire.settings, delivery_concurrency=1)
    worker = Deliverer(wire.redis, wire.transport, narrow)
    running = asyncio.create_task(worker.run(stop))
    await receiver.received(1)
    await eventually(lambda: len(worker._turns) == 2)
    stop.set()
    await eventually(lambda: unread(wire, 2))
    receiver.release()
    await running
    assert len(await wire.deliver()) == 2
    assert await states() == {"delivered": 3}
    assert len(receiver.deliveries) == 3


async def unread(wire, entries: int) -> bool:
    return sum(load.lag for load in await streams.states(wire.redis, wire.settings.stream_shards)) == entries


async def test_a_stopping_worker_finishes_what_it_has_in_hand(workspace, bot, wire, receiver):
    await endpoint(workspace, receiver.url)
    receiver.hang()
    await make.lead(workspace, bot)
    await wire.relay()
    stop = asyncio.Event()
    worker = asyncio.create_task(Deliverer(wire.redis, wire.transport, wire.settings).run(stop))
    await receiver.received(1)
    stop.set()
    receiver.release()
    await worker
    assert await states() == {"delivered": 1}
    assert sum(load.length for load in await streams.states(wire.redis, wire.settings.stream_shards)) == 0


async def test_an_endpoint_whose_secret_cannot_be_read_holds_up_nobody_else(workspace, bot, wire, receiver, db_clock):
    """What is for it waits, and costs no attempt; its key is tried again after a minute."""
    bad = await endpoint(workspace, receiver.url)
    good = await endpoint(workspace, receiver.url)
    sealed = await db.value("SELECT secret FROM webhook_endpoint WHERE id = $1", bad.id)
    await db.rows("UPDATE webhook_endpoint SET secret = 'nonsense' WHERE id = $1", bad.id)
    await make.lead(workspace, bot)
    (done,) = await wire.turn()
    assert done.job.entry.key.endpoint_id == good.id
    assert await states() == {"delivered": 1, "waiting": 1}
    assert await wire.relay() == 0
    await db.rows("UPDATE webhook_endpoint SET secret = $1 WHERE id = $2", sealed, bad.id)
    await db_clock.forward(60)
    (done,) = await wire.turn()
    assert (done.outcome, done.job.number) == ("delivered", 1)


async def test_what_could_not_be_sent_in_time_is_not_claimed(workspace, bot, wire, receiver, monkeypatch):
    """Redis is away: a POST could outlast the lease, and somebody else would have made it by then. What was read would
    be dropped, taken over a lease later, and nearer to being set aside.
    """
    await endpoint(workspace, receiver.url)
    await make.lead(workspace, bot)
    await wire.relay()
    worker = Deliverer(wire.redis, wire.transport, wire.settings)
    late = SimpleNamespace(
        perf_counter=lambda: time.perf_counter() + wire.settings.lease - wire.settings.delivery_timeout
    )
    entries = await wire.read()
    with monkeypatch.context() as patched:
        patched.setattr(heartbeat, "time", late)
        await begin(worker, entries)
        await asyncio.gather(*worker._posts)
    assert (len(entries), len(worker._turns), receiver.deliveries) == (1, 1, [])
    assert await db.value("SELECT owner FROM delivery") is None
    await begin(worker, [])
    await asyncio.gather(*worker._posts)
    assert len(receiver.deliveries) == 1


async def names_known(wire) -> set[str]:
    return {name for one in await streams.states(wire.redis, wire.settings.stream_shards) for name in one.consumers}


async def test_names_of_killed_workers_go_when_they_hold_nothing(wire, monkeypatch):
    shards = wire.settings.stream_shards
    await streams.add(wire.redis, [streams.Key("evt_1", "we_1", 0)], shards)
    (entry,) = await streams.read(wire.redis, "holds", shards, 1, None)
    await streams.read(wire.redis, "killed", shards, 1, None)
    await consumers.leave(wire.redis, "mine", shards)
    assert await names_known(wire) == {"holds", "killed"}, "they may only be slow"
    monkeypatch.setattr(consumers, "_KILLED_MS", -1)
    await consumers.leave(wire.redis, "mine", shards)
    assert await names_known(wire) == {"holds"}
    assert len(await wire.redis.xpending_range(entry.stream, streams.GROUP, "-", "+", 10)) == 1
    await streams.done(wire.redis, [entry])
    monkeypatch.undo()
    await consumers.leave(wire.redis, "holds", shards)
    assert await names_known(wire) == set()
    await wire.redis.flushall()
    await consumers.leave(wire.redis, "mine", shards)


async def test_a_failure_amid_recording_loses_neither_a_410_nor_a_dead_letter(
    workspace, bot, wire, receiver, monkeypatch
):
    made = await endpoint(workspace, receiver.url)
    receiver.answer = 410
    await make.lead(workspace, bot)
    await wire.relay()
    note, failed = health.note, []

    async def fails_once(settled):
        if not failed:
            failed.append(len(settled))
            raise ConnectionResetError("the database went away")
        await note(settled)

    monkeypatch.setattr(health, "note", fails_once)
    stop = asyncio.Event()
    worker = asyncio.create_task(Deliverer(wire.redis, wire.transport, wire.settings).run(stop))
    await eventually(lambda: db.value("SELECT count(*) > 0 FROM delivery_result WHERE state = 'dead'"))
    stop.set()
    await worker
    assert failed == [1]
    assert (await webhooks.endpoint(workspace, made.id)).enabled is False
    assert await db.value("SELECT count(*) FROM attempt WHERE counted") == 1
    assert len(receiver.deliveries) == 1
