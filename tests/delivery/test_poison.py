"""Entries that no worker survives, that nobody can read, and outcomes that cannot be written down."""

import asyncio

import asyncpg
import pytest

from leadwire.delivery import streams
from leadwire.delivery.monitoring import status
from leadwire.delivery.streams import consumers
from leadwire.delivery.worker import loop, quarantine, recorder
from leadwire.domain.webhooks import changes
from leadwire.infrastructure import db
from tests import make
from tests.delivery.test_delivery import broken, states
from tests.delivery.wired import endpoint
from tests.waiting import eventually


async def run_until(worker, condition) -> None:
    stop = asyncio.Event()
    running = asyncio.create_task(worker.run(stop))
    try:
        await eventually(condition)
    finally:
        stop.set()
        await running


async def two(workspace, bot, wire, receiver) -> str:
    """Two deliveries on their way; answers the first one's event."""
    await endpoint(workspace, receiver.url)
    await make.lead(workspace, bot, email="bad@example.com")
    await make.lead(workspace, bot, email="good@example.com")
    await wire.relay()
    return await db.value("SELECT min(event_id) FROM every_delivery")


async def pending(wire) -> int:
    return sum(load.length for load in await streams.states(wire.redis, wire.settings.stream_shards))


async def test_what_every_worker_dies_of_is_set_aside_and_can_be_released(workspace, bot, wire, receiver, hasty):
    """And what they only held together with it is delivered."""
    event = await two(workspace, bot, wire, receiver)
    taken, poison = await wire.read(), []
    for _ in range(2 * consumers.RECLAIMS):  # workers, of whom each dies that holds it, with whatever else it holds
        if event not in {entry.key.event_id for entry in taken}:
            await wire.settle(await wire.post(await wire.claim_as(wire.consumer, taken)))
        taken, poison, _ = await consumers.reclaim(
            wire.redis, "doomed", wire.settings.stream_shards, 0, 10, {"doomed", wire.consumer}
        )
        if poison:
            break
    assert [entry.key.event_id for entry in poison] == [event]
    await run_until(hasty, lambda: db.value("SELECT count(*) = 1 FROM every_delivery WHERE set_aside_at IS NOT NULL"))
    assert len(receiver.deliveries) == 1
    assert await pending(wire) == 0
    assert len(await quarantine.listed()) == (await status.read(wire.redis, 1, finished=False)).set_aside == 1
    assert await wire.relay() == 0, "nobody takes it up again by himself"
    assert await quarantine.release(event) == 1
    await wire.turn()
    assert receiver.deliveries[-1].webhook_id == event
    assert await quarantine.release() == 0
    assert await states() == {"delivered": 2}
    assert await broken(wire) == []


async def set_all_aside(wire) -> None:
    entries = await wire.read()
    assert len(await quarantine.set_aside(entries)) == 1
    await streams.done(wire.redis, entries)


async def test_what_another_worker_is_sending_is_not_set_aside(workspace, bot, wire, receiver, db_clock):
    """Whoever sets it aside holds an entry too many, or was suspended and has lost it."""
    await endpoint(workspace, receiver.url)
    await make.lead(workspace, bot)
    await wire.relay()
    entries = await wire.read()
    assert len(await wire.claim_as("living", entries)) == 1
    await db_clock.forward(wire.settings.lease + 1)
    assert await quarantine.set_aside(entries, "other", {"gone"}) == []
    assert await db.value("SELECT owner FROM delivery") == "living"
    assert len(await quarantine.set_aside(entries, "other", {"living"})) == 1


async def test_what_follows_in_an_order_goes_on_when_the_first_is_released(in_order, wire):
    lead = await in_order.lead()
    await in_order.score(lead, 1)
    await wire.relay()
    await set_all_aside(wire)
    await in_order.score(lead, 2, 3)
    assert await wire.relay() == 0, "they wait behind the first"
    assert await quarantine.release() == 1
    for _ in range(3):
        await wire.turn()
    assert in_order.told() == [1, 2, 3]


async def test_a_test_that_was_set_aside_does_not_come_back_by_itself(workspace, wire, receiver):
    made = await endpoint(workspace, receiver.url)
    await changes.send_test(workspace, made.id)
    await wire.relay()
    await set_all_aside(wire)
    assert await wire.relay() == 0
    assert await quarantine.release() == 1
    await wire.turn()
    assert len(receiver.deliveries) == 1


async def test_an_outcome_that_cannot_be_written_down_holds_nobody_up(
    workspace, bot, wire, receiver, hasty, monkeypatch
):
    event = await two(workspace, bot, wire, receiver)
    honest = recorder.record

    async def record(done, owner):
        if event in {one.job.entry.key.event_id for one in done}:
            raise asyncpg.DataError("invalid input")
        return await honest(done, owner)

    monkeypatch.setattr(recorder, "record", record)
    await run_until(hasty, lambda: db.value("SELECT count(*) = 1 FROM every_delivery WHERE set_aside_at IS NOT NULL"))
    assert await states() == {"delivered": 1, "waiting": 1}
    monkeypatch.setattr(recorder, "record", honest)
    await quarantine.release()
    await wire.relay()
    await run_until(hasty, lambda: db.value("SELECT count(*) = 2 FROM every_delivery WHERE state = 'delivered'"))


async def test_an_attempt_that_breaks_the_worker_keeps_no_place(workspace, bot, wire, receiver, hasty, monkeypatch):
    event = await two(workspace, bot, wire, receiver)
    honest = loop.attempt

    async def attempt(job, *others):
        if job.entry.key.event_id == event:
            raise RuntimeError("a bug of ours")
        return await honest(job, *others)

    monkeypatch.setattr(loop, "attempt", attempt)
    await run_until(hasty, lambda: db.value("SELECT count(*) = 1 FROM every_delivery WHERE set_aside_at IS NOT NULL"))
    assert await states() == {"delivered": 1, "waiting": 1}
    assert len(receiver.deliveries) == 1


@pytest.mark.parametrize(
    "fields",
    [
        {"x": "y"},
        {"e": b"\xff", "w": b"\xff", "n": 0},
        {"e": "evt_1", "w": "we_1", "n": "many"},
        {"e": "evt_" + "0" * 26, "w": "we_" + "0" * 26, "n": 99999999},
        {"e": "evt_" + "0" * 26, "w": "we_" + "0" * 26, "n": 0},
        {"e": "evt_7" + "z" * 25, "w": "we_" + "0" * 26, "n": 0},  # of a day after the year 9999
        {"e": "\0", "w": "\0", "n": 0},
    ],
)
async def test_an_entry_that_is_not_ours_is_put_away(workspace, bot, wire, receiver, hasty, fields):
    for _ in range(2):
        await wire.redis.xadd(streams.names(1)[0], fields)
    await endpoint(workspace, receiver.url)
    await make.lead(workspace, bot)
    await wire.relay()
    await run_until(hasty, lambda: db.value("SELECT count(*) = 1 FROM every_delivery WHERE state = 'delivered'"))
    assert await pending(wire) == 0


async def test_the_oftener_something_was_taken_over_the_fewer_are_taken_with_it(redis):
    """Nobody finishes anything here: it is the worst case."""
    await streams.prepare(redis, 1)
    await streams.add(redis, [streams.Key(f"evt_{n}", "we_1", 0) for n in range(16)], 1)
    assert len(await streams.read(redis, "doomed", 1, 16, None)) == 16
    rounds = [await consumers.reclaim(redis, "doomed", 1, 0, 16, {"doomed"}) for _ in range(1 + 4 + 3 * 16)]
    assert [len(one.taken) for one in rounds] == [16] + 4 * [4] + 3 * 16 * [1]
    assert [one.soon for one in rounds] == 5 * [True] + 3 * 16 * [False]
    assert not any(one.poison for one in rounds[: -16 + 1])  # as long as none was handed out six times
    last = await consumers.reclaim(redis, "doomed", 1, 0, 16, {"doomed"})
    assert (len(last.taken), len(last.poison), last.soon) == (0, 16, False)
