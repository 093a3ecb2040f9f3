"""What PostgreSQL refuses for a moment is done afterwards, once and in order, and no operator has to come."""

import contextlib
import itertools
import time
from types import SimpleNamespace

import pytest

from leadwire.delivery import pull, streams
from leadwire.delivery.endpoints import discard
from leadwire.delivery.relay import admit, fan_out
from leadwire.delivery.worker import recorder
from leadwire.domain.webhooks import changes, redrives
from leadwire.domain.webhooks.redrives import Selection
from leadwire.infrastructure import db, loop
from tests import jobs, make
from tests.delivery.test_batches import queued
from tests.delivery.test_delivery import broken, states
from tests.delivery.test_poison import run_until
from tests.delivery.wired import endpoint

CAUSES = {"any": "P0001", "locked": "55P03", "canceled": "57014", "deadlock": "40P01", "stopping": "57P01"}


@pytest.fixture
def no_rest(monkeypatch):
    """What has failed is tried in the next round."""
    monkeypatch.setattr(loop, "_LONGEST", 0.0)


@contextlib.asynccontextmanager
async def refused_at_first(table: str, event: str, *causes: str):
    """Let PostgreSQL refuse the first of such changes, each for its cause."""
    codes = ", ".join(f"'{CAUSES[cause]}'" for cause in causes)
    await db.rows("CREATE SEQUENCE refusals")
    await db.rows(
        "CREATE FUNCTION refuse_at_first() RETURNS trigger LANGUAGE plpgsql AS $$ DECLARE code text; BEGIN"
        f" code := (ARRAY[{codes}])[nextval('refusals')];"
        " IF code IS NOT NULL THEN RAISE EXCEPTION 'refused' USING ERRCODE = code; END IF;"
        " RETURN coalesce(NEW, OLD); END $$"
    )
    await db.rows(f"CREATE TRIGGER refuse BEFORE {event} ON {table} FOR EACH ROW EXECUTE FUNCTION refuse_at_first()")
    try:
        yield
    finally:
        await db.rows("DROP FUNCTION refuse_at_first CASCADE")
        await db.rows("DROP SEQUENCE refusals")


async def relayed(rounds: int = 1) -> None:
    for _ in range(rounds):
        with contextlib.suppress(*db.TRANSIENT):
            await fan_out.fan_out()


@pytest.mark.usefixtures("no_rest")
@pytest.mark.parametrize("causes", list(itertools.product(CAUSES, repeat=2)), ids="-".join)
async def test_events_are_relayed(workspace, bot, wire, receiver, causes):
    """The batch is refused, and what is tried next; then those that are tried alone."""
    await endpoint(workspace, receiver.url)
    for _ in range(3):
        await make.somebody(workspace, bot)
    async with refused_at_first("delivery", "INSERT", causes[0], *causes):
        await relayed(4)
    assert await fan_out.listed() == []
    assert await db.value("SELECT count(*) FROM outbox") == 0
    assert len(await wire.turn()) == 3
    assert await broken(wire) == []


async def test_what_comes_after_an_event_waits_for_it(in_order, wire, monkeypatch):
    """Nothing of its lead is relayed while it rests, and another lead is."""
    now = [time.monotonic()]
    monkeypatch.setattr(loop, "time", SimpleNamespace(monotonic=lambda: now[0]))
    first, other = await in_order.lead(), await in_order.lead()
    async with refused_at_first("delivery", "INSERT", "any", "any"):
        await in_order.score(first, 1, 2)
        await in_order.score(other, 3)
        await relayed(2)
    assert await db.value("SELECT count(*) FROM outbox") == 2
    await wire.turn()
    assert in_order.told() == [3]
    now[0] += 2
    for _ in range(2):
        await wire.turn()
    assert in_order.told() == [3, 1, 2]


async def test_also_where_its_rest_ends_before_the_others_are_tried(in_order, wire, monkeypatch):
    seconds = itertools.count(0, 10)
    monkeypatch.setattr(loop, "time", SimpleNamespace(monotonic=lambda: float(next(seconds))))
    lead = await in_order.lead()
    async with refused_at_first("delivery", "INSERT", "any", "any"):
        await in_order.score(lead, 1, 2)
        await relayed()
    for _ in range(3):
        await wire.turn()
    assert in_order.told() == [1, 2]


@pytest.mark.parametrize("cause", CAUSES)
async def test_what_was_sent_is_recorded_and_not_sent_twice(workspace, bot, wire, receiver, hasty, monkeypatch, cause):
    """The batch is refused, those of the endpoint together, and some of them alone."""
    monkeypatch.setattr(recorder, "_PAUSES", (0.01,) * 5)
    monkeypatch.setattr(recorder, "_AGAIN", 0.01)
    await endpoint(workspace, receiver.url)
    await queued(workspace, bot, wire, 3)
    async with refused_at_first("delivery_result", "INSERT", *[cause] * 5):
        await run_until(hasty, three_are_delivered)
    assert len(receiver.deliveries) == 3
    assert await broken(wire) == []


async def three_are_delivered() -> bool:
    return (await states()).get("delivered") == 3


@pytest.mark.parametrize("cause", CAUSES)
async def test_dead_letters_are_redriven(workspace, bot, wire, receiver, cause):
    """All are refused, and some of them alone."""
    made = await endpoint(workspace, receiver.url)
    receiver.answer = 410
    await queued(workspace, bot, wire, 3)
    await wire.deliver()
    await changes.enable(workspace, made.id)
    job = await redrives.start(workspace, Selection(), 1000)
    async with refused_at_first("delivery", "INSERT", *[cause] * 3):
        for _ in range(5):
            await jobs.redrive()
    assert (await redrives.one(None, job.id)).state == "finished"
    assert await states() == {"waiting": 3}


@pytest.mark.parametrize("cause", CAUSES)
async def test_deliveries_are_claimed(workspace, bot, wire, receiver, hasty, cause):
    await endpoint(workspace, receiver.url)
    await queued(workspace, bot, wire, 3)
    async with refused_at_first("delivery", "UPDATE", *[cause] * 4):
        await run_until(hasty, three_are_delivered)
    assert len(receiver.deliveries) == 3
    assert await broken(wire) == []


@pytest.mark.usefixtures("no_rest")
@pytest.mark.parametrize("cause", CAUSES)
async def test_deliveries_are_admitted(workspace, bot, wire, receiver, cause):
    for _ in range(2):
        await endpoint(workspace, receiver.url)
    await make.somebody(workspace, bot)
    await fan_out.fan_out()
    async with refused_at_first("delivery", "UPDATE", *[cause] * 3):
        for _ in range(4):
            with contextlib.suppress(*db.TRANSIENT):
                await admit.admit()
    assert await states() == {"queued": 2}


@pytest.mark.usefixtures("no_rest")
@pytest.mark.parametrize("cause", CAUSES)
async def test_what_redis_has_lost_is_added_again(workspace, bot, wire, receiver, db_clock, cause):
    await endpoint(workspace, receiver.url)
    await queued(workspace, bot, wire, 3)
    await wire.redis.flushall()
    await streams.prepare(wire.redis, wire.settings.stream_shards)
    await db_clock.forward(31)
    async with refused_at_first("delivery", "UPDATE", *[cause] * 3):
        for _ in range(4):
            with contextlib.suppress(*db.TRANSIENT):
                await wire.reconcile()
    assert len(await wire.deliver()) == 3


@pytest.mark.parametrize("cause", CAUSES)
async def test_deliveries_are_discarded(workspace, bot, wire, receiver, cause):
    made = await endpoint(workspace, receiver.url)
    for _ in range(3):
        await make.somebody(workspace, bot)
    await fan_out.fan_out()
    await discard.start(made.id)
    async with refused_at_first("delivery", "DELETE", *[cause] * 3):
        for _ in range(5):
            await jobs.run("discard", early=True)
    assert await states() == {"cancelled": 3}
    assert await db.value("SELECT count(*) FROM job WHERE kind = 'discard'") == 0


@pytest.mark.usefixtures("no_rest")
@pytest.mark.parametrize("cause", CAUSES)
async def test_what_is_not_acknowledged_counts_once(workspace, bot, wire, db_clock, cause):
    made = await endpoint(workspace, "pull:crm")
    await db.rows("UPDATE webhook_endpoint SET token = decode(md5(id), 'hex')")
    for _ in range(3):
        await make.somebody(workspace, bot)
    await fan_out.fan_out()
    assert len((await pull.take(made.id, workspace, 10, wire.settings))[1]) == 3
    await db_clock.forward(3600)
    async with refused_at_first("delivery", "UPDATE", *[cause] * 3):
        for _ in range(4):
            with contextlib.suppress(*db.TRANSIENT):
                await pull.expire(wire.settings)
    assert [row["attempts"] for row in await db.rows("SELECT attempts FROM delivery")] == [1, 1, 1]
