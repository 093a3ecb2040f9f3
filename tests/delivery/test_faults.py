"""Break each step exactly where it can break: nothing is lost, and nothing is sent without need."""

import asyncio
import contextvars

import msgspec

from leadwire.delivery import streams
from leadwire.delivery.monitoring import workers
from leadwire.delivery.relay.fan_out import fan_out
from leadwire.delivery.relay.loop import Relay
from leadwire.delivery.worker import health, loop
from leadwire.delivery.worker.claim import claim
from leadwire.delivery.worker.loop import Deliverer
from leadwire.delivery.worker.record import record
from leadwire.domain.privacy import changes as privacy
from leadwire.domain.webhooks import changes
from leadwire.domain.webhooks import reads as webhooks
from leadwire.infrastructure import db
from tests import make
from tests.delivery.test_delivery import broken, states
from tests.delivery.wired import endpoint
from tests.waiting import eventually


async def test_a_relay_that_dies_before_xadd_is_healed_by_reconcile(workspace, bot, wire, receiver, db_clock):
    await endpoint(workspace, receiver.url)
    await make.lead(workspace, bot)
    await fan_out()  # and then nothing: the keys are gone with the process
    assert await wire.reconcile() == 0  # not at once: they may be on their way
    await db_clock.forward(31)
    assert await wire.reconcile() == 1
    await wire.turn()
    assert len(receiver.deliveries) == 1


async def test_flushing_redis_loses_nothing(workspace, bot, wire, receiver, db_clock):
    await endpoint(workspace, receiver.url)
    for n in range(20):
        await make.lead(workspace, bot, email=f"lead{n}@example.com")
    await wire.relay()
    await wire.redis.flushall()
    await streams.prepare(wire.redis, wire.settings.stream_shards)
    assert await wire.deliver() == []
    await db_clock.forward(31)
    assert await wire.reconcile() == 20
    await wire.turn()
    assert len({delivery.webhook_id for delivery in receiver.deliveries}) == 20
    assert await broken(wire) == []


async def test_a_backlog_is_no_false_alarm_for_reconcile(workspace, bot, wire, receiver):
    await endpoint(workspace, receiver.url)
    await make.lead(workspace, bot)
    await wire.relay()
    loads = await streams.states(wire.redis, wire.settings.stream_shards)
    old = [load._replace(oldest=3600.0 if load.length else 0.0) for load in loads]
    await db.rows("UPDATE delivery SET queued_at = now() - interval '1 hour'")
    from leadwire.delivery.relay.reconcile import reconcile

    assert await reconcile(old, slack=30) == 0


async def test_two_relays_at_once_share_the_work(workspace, bot, wire, receiver):
    await endpoint(workspace, receiver.url)
    for n in range(40):
        await make.lead(workspace, bot, email=f"lead{n}@example.com")
    rounds = await asyncio.gather(*(fan_out(limit=10) for _ in range(8)))
    keys = [key for fanned in rounds for key in fanned.keys]
    while (more := await fan_out(limit=10)).events:
        keys += more.keys
    assert len(keys) == len(set(keys)) == 40


async def test_a_transaction_that_commits_late_is_not_skipped(workspace, bot, wire, receiver):
    """Its event has a lower id than one that was relayed already."""
    await endpoint(workspace, receiver.url)
    opened, commit = asyncio.Event(), asyncio.Event()

    async def slow() -> None:
        async with db.transaction():
            await make.lead(workspace, bot, email="slow@example.com")
            opened.set()
            await commit.wait()

    async with asyncio.TaskGroup() as group:
        group.create_task(slow())
        await opened.wait()
        await make.lead(workspace, bot, email="quick@example.com")
        await wire.turn()
        assert len(receiver.deliveries) == 1
        commit.set()
    await wire.turn()
    assert len(receiver.deliveries) == 2


async def test_a_duplicate_entry_is_stale_after_the_first_was_recorded(workspace, bot, wire, receiver):
    await endpoint(workspace, receiver.url)
    await make.lead(workspace, bot)
    keys = (await fan_out()).keys
    await streams.add(wire.redis, keys * 2, wire.settings.stream_shards)
    first, second = await wire.read()
    jobs, _ = await claim([first])
    await wire.settle(await wire.post(jobs))
    jobs, stale = await claim([second])
    assert (jobs, stale) == ([], [second])
    assert len(receiver.deliveries) == 1


async def test_a_worker_that_dies_after_record_and_before_ack_causes_no_second_post(workspace, bot, wire, receiver):
    await endpoint(workspace, receiver.url)
    await make.lead(workspace, bot)
    await wire.relay()
    done = await wire.post(await wire.claim())
    await record(done, wire.settings.retry_schedule)  # and dies
    taken, *_ = await streams.reclaim(wire.redis, "other", wire.settings.stream_shards, 0, 10)
    assert len(taken) == 1
    jobs, stale = await claim(taken)
    assert (jobs, stale) == ([], taken)
    assert len(receiver.deliveries) == 1


async def test_a_worker_that_wakes_after_its_lease_changes_nothing(workspace, bot, wire, receiver):
    await endpoint(workspace, receiver.url)
    await make.lead(workspace, bot)
    await wire.relay()
    jobs = await wire.claim()
    zombie = await wire.post(jobs)
    taken, *_ = await streams.reclaim(wire.redis, "other", wire.settings.stream_shards, 0, 10)
    again, _ = await claim(taken)
    receiver.answer = 500
    await wire.settle(await wire.post(again))
    assert await states() == {"waiting": 1}
    await record(zombie, wire.settings.retry_schedule)
    assert await states() == {"waiting": 1}
    counted = [row["counted"] for row in await db.rows("SELECT counted FROM attempt ORDER BY counted")]
    assert counted == [False, True]
    assert await broken(wire) == []


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
    assert await wire.reconcile() == 1
    await wire.settle(in_hand)
    assert await db.value("SELECT state FROM delivery") == "delivered"
    assert await wire.relay() == 0
    assert len(receiver.deliveries) == 1


async def test_a_worker_that_cannot_record_does_not_take_over_from_itself(workspace, bot, wire, receiver, monkeypatch):
    """Its lease ends while the outcome waits for the database: one POST, one attempt that counts."""
    monkeypatch.setattr(loop, "_RECLAIM_EVERY", 0.0)
    monkeypatch.setattr(loop, "_BLOCK_MS", 1)
    impatient = msgspec.structs.replace(wire.settings, lease=0.01)
    await endpoint(workspace, receiver.url)
    await make.lead(workspace, bot)
    await wire.relay()
    stop = asyncio.Event()
    async with db.transaction():
        await db.rows("SELECT 1 FROM delivery FOR UPDATE")
        worker = asyncio.create_task(
            Deliverer(wire.redis, wire.transport, impatient).run(stop), context=contextvars.Context()
        )
        await receiver.received(1)
        await eventually(lambda: overdue(wire, impatient.lease))
        assert await taken(wire, 1)
        assert not await taken(wire, 2)
    await eventually(lambda: db.value("SELECT count(*) = 1 FROM delivery WHERE state = 'delivered'"))
    stop.set()
    await worker
    assert len(receiver.deliveries) == 1
    assert await db.value("SELECT count(*) FROM attempt") == 1
    assert await broken(wire) == []


async def test_a_stopping_worker_does_not_wait_for_the_database_for_ever(workspace, bot, wire, receiver):
    await endpoint(workspace, receiver.url)
    await make.lead(workspace, bot)
    await wire.relay()
    stop = asyncio.Event()
    hasty = msgspec.structs.replace(wire.settings, delivery_timeout=0.2)
    async with db.transaction():
        await db.rows("SELECT 1 FROM delivery FOR UPDATE")
        worker = asyncio.create_task(
            Deliverer(wire.redis, wire.transport, hasty).run(stop), context=contextvars.Context()
        )
        await receiver.received(1)
        stop.set()
        await asyncio.wait_for(worker, 10)
    assert await states() == {"queued": 1}  # still owed, and its entry still there for another worker
    assert sum(load.pending for load in await streams.states(wire.redis, wire.settings.stream_shards)) == 1


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


async def test_a_missing_group_is_made_again_while_running(workspace, bot, wire, receiver):
    """The real loops, through a flush: no restart is needed."""
    await endpoint(workspace, receiver.url)
    stop = asyncio.Event()
    relay = asyncio.create_task(Relay(wire.redis, wire.settings).run(stop))
    worker = asyncio.create_task(Deliverer(wire.redis, wire.transport, wire.settings).run(stop))
    await make.lead(workspace, bot)
    await receiver.received(1)
    await wire.redis.flushall()
    await make.lead(workspace, bot, email="after@example.com")
    await receiver.received(2)
    await eventually(lambda: db.value("SELECT count(*) = 2 FROM delivery WHERE state = 'delivered'"))
    stop.set()
    await asyncio.gather(relay, worker)


async def test_what_a_worker_reads_as_it_is_told_to_stop_does_not_wait_for_its_lease(workspace, bot, wire, receiver):
    await endpoint(workspace, receiver.url)
    await make.lead(workspace, bot)
    await wire.relay()
    stop = asyncio.Event()
    worker = Deliverer(wire.redis, wire.transport, wire.settings)
    reading = worker._take

    async def take():
        entries = await reading()
        stop.set()
        return entries

    worker._take = take
    await asyncio.wait_for(asyncio.create_task(worker.run(stop), context=contextvars.Context()), 20)
    assert await states() == {"delivered": 1}
    assert sum(load.length for load in await streams.states(wire.redis, wire.settings.stream_shards)) == 0


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


async def test_an_erasure_meets_a_relay_in_the_middle_of_its_events(workspace, bot, wire, receiver):
    """The relay holds the event when the erasure comes: the erasure waits, and cancels what the relay made of it."""
    await endpoint(workspace, receiver.url)
    lead = await make.lead(workspace, bot)
    relayed, commit = asyncio.Event(), asyncio.Event()

    async def relaying() -> None:
        async with db.transaction():
            await fan_out()
            relayed.set()
            await commit.wait()

    async with asyncio.TaskGroup() as group:
        group.create_task(relaying())
        await relayed.wait()
        erasing = group.create_task(privacy.erase_lead(workspace, lead.id))
        await eventually(lambda: db.value("SELECT EXISTS (SELECT 1 FROM pg_locks WHERE NOT granted)"))
        commit.set()
        await erasing
    assert await states() == {"cancelled": 1}


async def test_a_fan_out_does_not_wait_while_a_backlog_is_canceled(workspace, bot, wire, receiver):
    """A deletion has much to cancel, here one delivery that somebody else holds, and events of anybody come."""
    made = await endpoint(workspace, receiver.url)
    await db.rows("UPDATE webhook_endpoint SET rate_limit = 1, rate_tokens = 0, rate_at = now()")
    await make.lead(workspace, bot)
    assert await wire.relay() == 0
    await make.lead(workspace, bot, email="other@example.com")
    outside = contextvars.Context
    async with db.transaction():
        await db.rows("SELECT 1 FROM delivery WHERE state = 'waiting' FOR UPDATE")
        deleting = asyncio.create_task(changes.delete(workspace, made.id), context=outside())
        await eventually(lambda: db.value("SELECT EXISTS (SELECT 1 FROM pg_locks WHERE NOT granted)"))
        fanning = asyncio.create_task(fan_out(), context=outside())
        await eventually(fanning.done)
        assert not deleting.done()
    await deleting
    assert await states() == {"cancelled": 2}


async def test_an_endpoint_whose_secret_cannot_be_read_holds_up_nobody_else(workspace, bot, wire, receiver):
    bad = await endpoint(workspace, "http://127.0.0.1:8999/")
    await endpoint(workspace, receiver.url)
    await db.rows("UPDATE webhook_endpoint SET secret = 'nonsense' WHERE id = $1", bad.id)
    await make.lead(workspace, bot)
    (done,) = await wire.turn()
    assert done.outcome == "delivered"
    assert await states() == {"delivered": 1, "queued": 1}


async def test_what_was_claimed_too_late_is_left_to_a_quicker_worker(workspace, bot, wire, receiver, monkeypatch):
    """Its POST could outlast the lease, and somebody else would have made it by then."""
    await endpoint(workspace, receiver.url)
    await make.lead(workspace, bot)
    await wire.relay()
    worker = Deliverer(wire.redis, wire.transport, wire.settings)
    clock = [1000.0]
    monkeypatch.setattr(loop.time, "monotonic", lambda: clock[0])

    async def slow_claim(entries):
        clock[0] += wire.settings.lease - wire.settings.delivery_timeout + 1
        return await claim(entries)

    monkeypatch.setattr(loop, "claim", slow_claim)
    entries = await wire.read()
    await worker._start(entries, asyncio.Event())
    assert (len(entries), worker._posts, worker._held) == (1, set(), {})
    monkeypatch.undo()
    await worker._start(entries, asyncio.Event())
    await receiver.received(1)
    await asyncio.gather(*worker._posts)


async def test_names_of_killed_workers_go_when_they_hold_nothing(wire, monkeypatch):
    shards = wire.settings.stream_shards
    await streams.add(wire.redis, [streams.Key("evt_1", "we_1", 0)], shards)
    (entry,) = await streams.read(wire.redis, "holds", shards, 1, 1)
    await streams.read(wire.redis, "killed", shards, 1, 1)
    await streams.leave(wire.redis, "mine", shards)
    assert set(await workers.consumers(wire.redis, shards)) == {"holds", "killed"}, "they may only be slow"
    monkeypatch.setattr(streams, "_KILLED_MS", -1)
    await streams.leave(wire.redis, "mine", shards)
    assert set(await workers.consumers(wire.redis, shards)) == {"holds"}
    assert len(await wire.redis.xpending_range(entry.stream, streams.GROUP, "-", "+", 10)) == 1
    await streams.done(wire.redis, [entry])
    monkeypatch.undo()
    await streams.leave(wire.redis, "holds", shards)
    assert await workers.consumers(wire.redis, shards) == {}
    await wire.redis.flushall()
    await streams.leave(wire.redis, "mine", shards)


async def test_a_failure_amid_recording_loses_neither_a_410_nor_a_dead_letter(
    workspace, bot, wire, receiver, monkeypatch
):
    made = await endpoint(workspace, receiver.url)
    receiver.answer = 410
    await make.lead(workspace, bot)
    await wire.relay()
    note, failed = health.record, []

    async def fails_once(settled):
        if not failed:
            failed.append(len(settled))
            raise ConnectionResetError("the database went away")
        await note(settled)

    monkeypatch.setattr(health, "record", fails_once)
    stop = asyncio.Event()
    worker = asyncio.create_task(Deliverer(wire.redis, wire.transport, wire.settings).run(stop))
    await eventually(lambda: wire.redis.xlen(streams.DEAD_LETTERS))
    stop.set()
    await worker
    assert failed == [1]
    assert (await webhooks.endpoint(workspace, made.id)).enabled is False
    assert await db.value("SELECT count(*) FROM attempt WHERE counted") == 1
    assert len(receiver.deliveries) == 1
