"""Break each step of the relay exactly where it can break: nothing is lost, and nothing is sent without need."""

import asyncio

from leadwire.delivery import streams
from leadwire.delivery.relay.admit import admit
from leadwire.delivery.relay.fan_out import fan_out
from leadwire.delivery.relay.loop import Relay
from leadwire.delivery.streams import push
from leadwire.delivery.worker.loop import Deliverer
from leadwire.domain.privacy import erasure
from leadwire.domain.webhooks import changes
from leadwire.infrastructure import db, ids
from tests import jobs, make
from tests.delivery.interleaved import apart, blocked, patient
from tests.delivery.test_delivery import broken, states
from tests.delivery.wired import endpoint
from tests.waiting import eventually


async def test_a_relay_that_dies_before_xadd_is_healed_by_reconcile(workspace, bot, wire, receiver, db_clock):
    await endpoint(workspace, receiver.url)
    await make.lead(workspace, bot)
    await fan_out()
    assert len(await admit()) == 1  # and then nothing: the keys are gone with the process
    assert await wire.reconcile() == 0  # not at once: they may be on their way
    await db_clock.forward(31)
    assert await wire.reconcile() == 1
    await wire.turn()
    assert len(receiver.deliveries) == 1


async def test_a_process_that_dies_after_its_commit_and_before_xadd_is_healed_by_reconcile(
    workspace, bot, wire, receiver, db_clock, monkeypatch
):
    await endpoint(workspace, receiver.url)
    await wire.relay()  # opens it
    monkeypatch.setattr(push, "push", lambda _keys, **_options: None)
    await make.lead(workspace, bot)
    assert await states() == {"queued": 1}
    assert await wire.turn() == []
    await db_clock.forward(31)
    assert await wire.reconcile() == 1
    await wire.turn()
    assert len(receiver.deliveries) == 1
    assert await broken(wire) == []


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
    assert len({delivery.webhook_id for delivery in receiver.deliveries}) == len(receiver.deliveries) == 20
    assert await broken(wire) == []


async def test_a_backlog_is_no_false_alarm_for_reconcile(workspace, bot, wire, receiver):
    await endpoint(workspace, receiver.url)
    await make.lead(workspace, bot)
    await wire.relay()
    await entered(wire, 3600)
    await db.rows("UPDATE delivery SET queued_at = now() - interval '1 hour'")
    assert await wire.reconcile() == 0


async def entered(wire, seconds: int) -> None:
    """Let the entries have been added so many seconds ago."""
    for name in streams.names(wire.settings.stream_shards):
        entries = await wire.redis.xrange(name)
        await wire.redis.delete(name)
        for entry_id, fields in entries:
            milliseconds, number = map(int, entry_id.split(b"-"))
            await wire.redis.xadd(name, fields, id=f"{milliseconds - 1000 * seconds}-{number}")
    await streams.prepare(wire.redis, wire.settings.stream_shards)


async def test_what_is_lost_is_found_beside_entries_that_stay(workspace, bot, wire, receiver, db_clock):
    """Poison stays for minutes, and what a worker has read may wait there for its turn."""
    await endpoint(workspace, receiver.url)
    await wire.relay()
    await make.somebody(workspace, bot)
    await make.somebody(workspace, bot)
    await wire.relay()
    lost, kept = await wire.read()
    keys = [streams.Key(ids.new("evt"), lost.key.endpoint_id, 0) for _ in range(streams._EXAMINED + 1)]
    await streams.add(wire.redis, [*keys, lost.key, kept.key], wire.settings.stream_shards)
    await streams.done(wire.redis, [lost, kept])
    await entered(wire, 300)
    again = []
    while entries := await wire.read():
        again += entries
    await streams.done(wire.redis, [entry for entry in again if entry.key == lost.key])
    await db_clock.forward(301)
    assert await wire.reconcile() == 1
    assert [entry.key for entry in await wire.read()] == [lost.key]


async def test_two_relays_at_once_share_the_work(workspace, bot, wire, receiver):
    await endpoint(workspace, receiver.url)
    for n in range(40):
        await make.lead(workspace, bot, email=f"lead{n}@example.com")
    made, keys = 0, []
    while await db.value("SELECT EXISTS (SELECT 1 FROM outbox)"):
        for fanned in await asyncio.gather(*(fan_out("", 10) for _ in range(4))):
            made += fanned.waiting + len(fanned.keys)
            keys += fanned.keys
        for admitted in await asyncio.gather(*(admit() for _ in range(4))):
            keys += admitted
    assert made == len(keys) == len(set(keys)) == 40


async def test_a_transaction_that_commits_late_is_not_skipped(workspace, bot, wire, receiver):
    """Its event has a lower id than one that was relayed already."""
    await endpoint(workspace, receiver.url)
    async with db.transaction():
        await make.lead(workspace, bot, email="slow@example.com")
        await apart(make.lead(workspace, bot, email="quick@example.com"))
        await apart(wire.turn())
        assert len(receiver.deliveries) == 1
    await wire.turn()
    assert len(receiver.deliveries) == 2


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
    await eventually(lambda: db.value("SELECT count(*) = 2 FROM every_delivery WHERE state = 'delivered'"))
    stop.set()
    await asyncio.gather(relay, worker)


async def test_an_erasure_meets_a_relay_in_the_middle_of_its_events(workspace, bot, wire, receiver):
    """The relay holds the event when the erasure comes: the erasure waits, and cancels what the relay made of it."""
    await endpoint(workspace, receiver.url)
    lead = await make.lead(workspace, bot)
    async with db.transaction():
        await fan_out()
        erasing = apart(erasure.erase_lead(workspace, lead.id))
        await blocked()
    await erasing
    assert await states() == {"cancelled": 1}


async def test_a_fan_out_does_not_wait_while_a_backlog_is_canceled(workspace, bot, wire, receiver):
    """There is much to cancel, here one delivery that somebody else holds, and events come for another endpoint."""
    made, _ = await endpoint(workspace, receiver.url), await endpoint(workspace, receiver.url)
    await changes.disable(workspace, made.id)
    await changes.enable(workspace, made.id)
    await make.lead(workspace, bot)
    await fan_out()
    await make.lead(workspace, bot, email="other@example.com")
    await changes.delete(workspace, made.id)
    with patient():
        async with db.transaction():
            await db.rows("SELECT 1 FROM delivery FOR UPDATE")
            canceling = apart(jobs.discard())
            await blocked()
            assert (await apart(fan_out())).waiting == 1
            assert not canceling.done()
        assert await canceling == 1
    assert await states() == {"cancelled": 1, "waiting": 2}
