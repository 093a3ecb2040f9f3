"""A delivery is its worker's for as long as that one lives, whatever the database's clock says and however long it is
away; and nobody's for long when it is gone.
"""

import asyncio
from types import SimpleNamespace

import msgspec
import pytest

from leadwire.delivery import streams
from leadwire.delivery.relay import reconcile
from leadwire.delivery.relay.reconcile import Living
from leadwire.delivery.streams import consumers
from leadwire.delivery.worker import heartbeat, loop, reader
from leadwire.delivery.worker.claim import claim
from leadwire.delivery.worker.heartbeat import Heartbeat
from leadwire.delivery.worker.loop import Deliverer
from leadwire.infrastructure import db
from tests import make
from tests.delivery.interleaved import apart
from tests.delivery.test_delivery import broken, states
from tests.delivery.wired import endpoint
from tests.waiting import eventually

LEASE = 0.5  # seconds


class Workers:
    """Two workers with a short lease: `first` has the only delivery in hand, and its receiver hangs."""

    def __init__(self, wire):
        settings = msgspec.structs.replace(wire.settings, lease=LEASE, delivery_timeout=LEASE / 2)
        self.wire = wire
        self.first, self.second = (Deliverer(wire.redis, wire.transport, settings) for _ in range(2))
        self.stop = asyncio.Event()
        self.running: dict[Deliverer, asyncio.Task[None]] = {}

    def start(self, worker: Deliverer) -> None:
        self.running[worker] = apart(worker.run(self.stop))

    async def second_has_looked(self, times: int = 5) -> None:
        """Wait until the second worker has looked for some time whom it could take over from."""
        for _ in range(times):
            seen = self.second._reader._looked
            await eventually(lambda seen=seen: self.second._reader._looked > seen)


@pytest.fixture
async def workers(workspace, bot, wire, receiver, monkeypatch):
    monkeypatch.setattr(reader, "_BLOCK_MS", 10)
    monkeypatch.setattr(Heartbeat, "covers", lambda *_: True)
    await endpoint(workspace, receiver.url)
    await make.lead(workspace, bot)
    await wire.relay()
    receiver.hang()
    workers = Workers(wire)
    workers.start(workers.first)
    await receiver.received(1)
    workers.start(workers.second)
    yield workers
    workers.stop.set()
    receiver.release()
    await asyncio.gather(*workers.running.values())


async def test_a_clock_that_is_ahead_takes_nothing_from_a_worker_that_lives(workers, wire, receiver, db_clock):
    living = Living(wire.settings.lease)
    for _ in range(2):
        await db_clock.forward(600)
        assert await reconcile.reconcile(wire.redis, wire.settings.stream_shards, 30, living) == []
        key = streams.Key(*(await db.row("SELECT event_id, endpoint_id, 0::int FROM delivery")))
        await streams.add(wire.redis, [key], wire.settings.stream_shards)
        await workers.second_has_looked()
    receiver.release()
    await eventually(lambda: apart(delivered()))
    assert len(receiver.deliveries) == 1


async def delivered() -> bool:
    return await states() == {"delivered": 1}


async def test_a_database_that_is_away_for_long_takes_nothing_from_a_worker_that_lives(workers, wire, receiver):
    """Its outcome cannot be recorded for several leases."""
    async with db.transaction():
        await db.rows("SELECT 1 FROM delivery FOR UPDATE")
        receiver.release()
        await eventually(lambda: held_for(wire, 4 * LEASE))
        await workers.second_has_looked()
    await eventually(lambda: apart(delivered()))
    assert len(receiver.deliveries) == 1
    assert await db.value("SELECT count(*) FROM attempt") == 1


async def held_for(wire, seconds: float) -> bool:
    pending = [await wire.redis.xpending_range(name, streams.GROUP, "-", "+", 1) for name in streams.names(4)]
    return any(one["time_since_delivered"] > 1000 * seconds for entries in pending for one in entries)


@pytest.fixture
async def killed(workspace, bot, wire, receiver, db_clock):
    """A worker that has claimed the only delivery and is not heard of again. The lease in the row has ended."""
    await endpoint(workspace, receiver.url)
    await make.lead(workspace, bot)
    await wire.relay()
    assert len(await wire.claim()) == 1
    await db_clock.forward(wire.settings.lease + 1)


async def test_what_a_killed_worker_had_is_taken_over(killed, wire, receiver):
    stop = asyncio.Event()
    settings = msgspec.structs.replace(wire.settings, lease=LEASE, delivery_timeout=LEASE / 2)
    running = apart(Deliverer(wire.redis, wire.transport, settings).run(stop))
    await eventually(delivered)
    stop.set()
    await running
    assert len(receiver.deliveries) == 1
    assert await broken(wire) == []


async def test_what_a_killed_worker_had_is_found_though_redis_has_forgotten_it(killed, wire):
    await wire.redis.flushall()
    living = Living(LEASE)

    async def found() -> bool:
        return bool(await reconcile.reconcile(wire.redis, wire.settings.stream_shards, 30, living))

    assert not await found(), "it may live"
    await eventually(found)
    assert await db.value("SELECT owner FROM delivery") is None


@pytest.fixture
def clock(monkeypatch):
    made = SimpleNamespace(now=1000.0)
    made.perf_counter = made.monotonic = lambda: made.now
    monkeypatch.setattr(heartbeat, "time", made)
    monkeypatch.setattr(reconcile, "time", made)
    return made


async def test_a_worker_that_was_suspended_sends_nothing_that_it_had_claimed_before(wire, clock):
    """Others may have taken it over. It takes nothing over from them for a while, as they may have been away, too."""
    beating = Heartbeat(wire.redis, "one", wire.settings)  # a lease of 60 s, a timeout of 30 s
    await beating.beat()
    claimed = clock.now
    clock.now += 29
    assert beating.covers(claimed)
    await beating.beat()
    assert beating.may_take_over(refused=0.0)
    clock.now += 29
    assert beating.covers(claimed), "there were beats all the time"
    clock.now += 2
    assert not beating.covers(claimed), "a POST might not have ended before the lease"
    await beating.beat()
    assert not beating.covers(claimed)
    assert beating.covers(clock.now)
    assert not beating.may_take_over(refused=0.0)
    clock.now += 15
    await beating.beat()
    assert beating.may_take_over(refused=clock.now - 15)
    assert not beating.may_take_over(refused=clock.now - 14)


async def test_a_beat_makes_the_groups_of_a_redis_that_has_lost_them(wire):
    beating = Heartbeat(wire.redis, "one", wire.settings)
    await wire.redis.flushall()
    await beating.beat()
    await beating.beat()
    assert set(await consumers.idle(wire.redis, wire.settings.stream_shards)) == {"one"}


async def test_a_beat_takes_no_entry(wire):
    """Not by an id that the server takes for `>`: what it handed out would lie here until the lease ends."""
    shards = wire.settings.stream_shards
    for stream in streams.names(shards):
        await wire.redis.xadd(stream, {"e": "evt_1", "w": "we_1", "n": 0})
    await Heartbeat(wire.redis, "one", wire.settings).beat()
    assert len(await streams.read(wire.redis, "another", shards, 10, None)) == len(streams.names(shards))


async def test_who_lives_is_not_told_before_a_lease_was_watched(wire, clock):
    living = Living(60)
    states = await streams.states(wire.redis, 1)
    heard = [states[0]._replace(consumers={"one": 5.0, "two": 61.0})]
    forgotten = [states[0]._replace(consumers={})]
    assert living.look(heard) is None
    clock.now += 50
    assert living.look(forgotten) is None
    clock.now += 4
    assert living.look(heard) is None
    clock.now += 6
    assert living.look(forgotten) == ["one"]
    clock.now += 49
    assert living.look(forgotten) == []
    clock.now += 61
    assert living.look(forgotten) is None, "nobody has looked in between"


async def test_what_a_living_worker_has_dropped_is_not_lost_with_redis(
    workspace, bot, wire, receiver, db_clock, monkeypatch
):
    """It has claimed a delivery and not sent it. Then Redis loses the entry."""

    async def claim_late(*arguments):
        claimed = await claim(*arguments)
        await wire.redis.flushall()
        monkeypatch.setattr(loop, "claim", claim)
        monkeypatch.setattr(Heartbeat, "covers", lambda *_: False)
        return claimed

    monkeypatch.setattr(loop, "claim", claim_late)
    await endpoint(workspace, receiver.url)
    await make.lead(workspace, bot)
    await wire.relay()
    settings = msgspec.structs.replace(wire.settings, lease=LEASE, delivery_timeout=LEASE / 2)
    stop, worker = asyncio.Event(), Deliverer(wire.redis, wire.transport, settings)
    running = apart(worker.run(stop))
    await eventually(lambda: apart(owned_by(worker.consumer)))
    await db_clock.forward(wire.settings.lease + 1)
    await eventually(lambda: apart(owned_by(None)))
    monkeypatch.setattr(Heartbeat, "covers", lambda *_: True)
    await db_clock.forward(120)
    (key,) = await reconcile.reconcile(wire.redis, wire.settings.stream_shards, 30, Living(wire.settings.lease))
    await streams.add(wire.redis, [key], wire.settings.stream_shards)
    await eventually(lambda: apart(delivered()))
    stop.set()
    await running
    assert await broken(wire) == []


async def owned_by(worker: str | None) -> bool:
    return [row["owner"] for row in await db.rows("SELECT owner FROM delivery WHERE state = 'queued'")] == [worker]


async def test_the_ledger_counts_what_a_worker_should_have_recorded_long_ago(killed, wire, db_clock):
    await wire.redis.flushall()
    await streams.prepare(wire.redis, wire.settings.stream_shards)
    assert await reconcile.count_lost(wire.redis, wire.settings.stream_shards, 30) == 0
    await db_clock.forward(700)
    assert await reconcile.count_lost(wire.redis, wire.settings.stream_shards, 30) == 1
