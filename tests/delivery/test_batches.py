"""One delivery for which a statement of the worker fails is alone: all others of its batch go on."""

import asyncio

import pytest

from leadwire.delivery import streams
from leadwire.delivery.worker import recorder
from leadwire.delivery.worker.loop import Deliverer
from leadwire.delivery.worker.observe import Liveness
from leadwire.delivery.worker.record import record
from leadwire.delivery.worker.recorder import persist
from leadwire.domain.webhooks import changes
from leadwire.domain.webhooks.schema import EndpointChange
from leadwire.infrastructure import db
from tests import make
from tests.delivery.test_delivery import states
from tests.delivery.test_poison import pending, run_until
from tests.delivery.wired import endpoint
from tests.waiting import eventually


@pytest.fixture
async def refuse(database):
    """Let PostgreSQL refuse to write rows of one event where a condition holds."""

    async def refusing(table: str, when: str, event_id: str) -> None:
        await db.rows(
            "CREATE OR REPLACE FUNCTION refuse() RETURNS trigger LANGUAGE plpgsql AS"
            f" $$ BEGIN IF {when} AND NEW.event_id = '{event_id}' THEN RAISE 'refused'; END IF; RETURN NEW; END $$"
        )
        await db.rows(
            f"CREATE TRIGGER refuse BEFORE INSERT OR UPDATE ON {table} FOR EACH ROW EXECUTE FUNCTION refuse()"
        )

    yield refusing
    await db.rows("DROP FUNCTION IF EXISTS refuse CASCADE")


async def queued(workspace, bot, wire, count: int) -> str:
    """So many deliveries in the streams. Return the event of one."""
    for _ in range(count):
        await make.somebody(workspace, bot)
    await wire.relay()
    return str(await db.value("SELECT event_id FROM delivery ORDER BY event_id OFFSET 1 LIMIT 1"))


async def set_aside() -> bool:
    return bool(await db.value("SELECT count(*) = 1 FROM delivery WHERE set_aside_at IS NOT NULL"))


@pytest.mark.parametrize(
    "refused",
    [("delivery", "NEW.owner IS NOT NULL"), ("delivery_result", "true"), ("attempt", "true")],
    ids=["claim", "record", "its attempt"],
)
async def test_one_that_cannot_be_claimed_or_recorded_is_set_aside(bot, wire, receiver, hasty, refuse, refused):
    workspace = await db.value("SELECT workspace_id FROM bot")
    await endpoint(workspace, receiver.url)
    await refuse(*refused, await queued(workspace, bot, wire, 5))
    await run_until(hasty, set_aside)
    assert await states() == {"delivered": 4, "waiting": 1}
    assert await pending(wire) == 0


async def test_one_that_cannot_be_numbered_is_set_aside(workspace, bot, wire, receiver, hasty, refuse):
    made = await endpoint(workspace, receiver.url)
    await changes.configure(workspace, made.id, EndpointChange(numbered=True))
    await refuse("delivery", "NEW.sequence IS NOT NULL", await queued(workspace, bot, wire, 5))
    await run_until(hasty, set_aside)
    assert await states() == {"delivered": 4, "waiting": 1}


async def test_one_that_cannot_be_put_back_leaves_the_others_waiting(workspace, bot, wire, receiver, refuse):
    """Their endpoint is disabled while they are in a stream."""
    made = await endpoint(workspace, receiver.url)
    await refuse("delivery", "NEW.state = 'waiting'", await queued(workspace, bot, wire, 5))
    await changes.disable(workspace, made.id)
    stop = asyncio.Event()
    running = asyncio.create_task(Deliverer(wire.redis, wire.transport, wire.settings).run(stop))
    await eventually(lambda: db.value("SELECT count(*) = 4 FROM delivery WHERE state = 'waiting'"))
    stop.set()
    await running
    assert await states() == {"waiting": 4, "queued": 1}
    assert await pending(wire) == 1


async def test_entries_of_one_delivery_are_acknowledged_with_its_post(workspace, bot, wire, receiver):
    """They were added twice, before and while it is sent: none of them stays for whoever takes over."""
    await endpoint(workspace, receiver.url)
    receiver.hang()
    await queued(workspace, bot, wire, 2)
    (key, _) = [streams.Key(*row) for row in await db.rows("SELECT event_id, endpoint_id, 0::int FROM delivery")]
    await streams.add(wire.redis, [key, key], wire.settings.stream_shards)
    stop = asyncio.Event()
    running = asyncio.create_task(Deliverer(wire.redis, wire.transport, wire.settings).run(stop))
    await receiver.received(2)
    await streams.add(wire.redis, [key], wire.settings.stream_shards)
    await eventually(lambda: left(wire, 2))
    receiver.release()
    await eventually(lambda: left(wire, 0))
    stop.set()
    await running
    assert len(receiver.deliveries) == 2


async def left(wire, entries: int) -> bool:
    return await pending(wire) == entries


async def test_only_a_server_that_is_away_is_tried_again():
    errors = [ConnectionResetError(), TimeoutError(), ValueError("a bug of ours")]

    async def work() -> None:
        raise errors.pop(0)

    with pytest.raises(ValueError, match="a bug of ours"):
        await persist(work, Liveness(30))
    assert errors == []


async def test_what_is_locked_or_ended_is_not_given_up(workspace, bot, wire, receiver, monkeypatch):
    """It was refused for another reason before: it was given up, and sent again by whoever took it over."""
    await endpoint(workspace, receiver.url)
    await queued(workspace, bot, wire, 2)
    (one, _) = await wire.post(await wire.claim())
    errors = [ValueError("refused"), ValueError("refused"), db.Canceled("ended"), db.Locked("held")]

    async def refused(some, owner):
        if errors:
            raise errors.pop(0)
        return await record(some, owner)

    monkeypatch.setattr(recorder, "record", refused)
    monkeypatch.setattr(recorder, "_PAUSES", ())
    monkeypatch.setattr(recorder, "_AGAIN", 0.0)
    writing = recorder.Recorder(wire.redis, wire.consumer, {one.job.entry.key: one.job.entry}, Liveness(30))
    running = asyncio.create_task(writing.run())
    writing.put(one)
    writing.end()
    await running
    assert errors == []
    assert await states() == {"delivered": 1, "queued": 1}


async def test_outcomes_that_cannot_be_recorded_hold_up_no_later_one(workspace, bot, wire, receiver, monkeypatch):
    """They are tried one by one, and that takes long where they are many."""
    bad, _ = [(await endpoint(workspace, receiver.url)).id for _ in range(2)]
    for number in range(2):
        await make.lead(workspace, bot, email=f"{number}@example.com")
    await wire.relay()
    done = await wire.post(await wire.claim())
    tried, go_on = asyncio.Event(), asyncio.Event()

    async def refused(some, owner):
        if all(one.job.entry.key.endpoint_id != bad for one in some):
            return await record(some, owner)
        if tried.is_set():
            await go_on.wait()
        tried.set()
        raise ValueError("refused")

    monkeypatch.setattr(recorder, "record", refused)
    held = {one.job.entry.key: one.job.entry for one in done}
    writing = recorder.Recorder(wire.redis, wire.consumer, held, Liveness(30))
    running = asyncio.create_task(writing.run())
    for one in sorted(done, key=lambda one: one.job.entry.key.endpoint_id != bad):
        if one.job.entry.key.endpoint_id != bad:
            await tried.wait()
        writing.put(one)
    await eventually(_two_are_delivered)
    go_on.set()
    writing.end()
    await running
    assert await states() == {"delivered": 2, "queued": 2}
    assert held == {}


async def _two_are_delivered() -> bool:
    return (await states()).get("delivered") == 2
