"""What the observer finds wrong, since when, and what the page System makes of it."""

import asyncio
import time
from datetime import timedelta
from pathlib import Path

import pytest

from leadwire.delivery.monitoring import conditions, gauges, observer, reach
from leadwire.delivery.monitoring.conditions import CONDITIONS, Noted
from leadwire.delivery.monitoring.observer import Observer
from leadwire.delivery.streams import installation
from leadwire.infrastructure import clock, db, redis_pool, settings
from leadwire.infrastructure.db import migrations
from leadwire.infrastructure.db.statements import sql
from leadwire.infrastructure.telemetry.metrics import GAUGES, PREFIX
from tests import jobs, make
from tests.delivery.wired import endpoint

WAIT = max(one.wait for one in CONDITIONS)


@pytest.fixture
def later(monkeypatch):
    """Moves the clock of Redis."""
    passed = [0.0]
    true = redis_pool.time

    async def moved(client):
        return await true(client) + passed[0]

    monkeypatch.setattr(redis_pool, "time", moved)

    def move(seconds: float) -> None:
        passed[0] += seconds

    return move


@pytest.fixture
def quiet(database):
    """Gauges that show nothing wrong, before and after."""
    observers = [gauge for name, gauge in GAUGES.items() if name in {PREFIX + one.gauge for one in CONDITIONS}]
    for gauge in observers:
        gauge.show_all({})
    yield
    for gauge in observers:
        gauge.show_all({})


async def said(redis) -> list[tuple[str, str]]:
    return [(one.name, one.says) for one in await conditions.firing(redis)]


@pytest.mark.usefixtures("quiet")
async def test_a_condition_fires_after_it_has_held_for_its_time(redis, later):
    reach.FAILING.show_all({("unreached",): 0.75})
    gauges.OVERDUE_OLDEST.show_all({("nothing",): 59.0, ("endpoint",): 7300.0})
    await conditions.note(redis)
    assert await said(redis) == []
    later(61)
    await conditions.note(redis)
    first = (await conditions.firing(redis))[0]
    assert await said(redis) == [
        ("NothingDelivered", "75% of the endpoints tried lately fail, most of them unreached.")
    ]
    assert (first.severity, first.command) == ("page", "leadwire doctor --egress")
    assert first.runbook == "nothing-delivered"
    later(600)
    await conditions.note(redis)
    pages, ticket = await conditions.firing(redis)
    assert pages.since == first.since
    assert (ticket.name, ticket.severity) == ("EndpointBacklog", "ticket")
    assert ticket.says == "A receiver is 2.0 h behind with its deliveries."
    reach.FAILING.show_all({("unreached",): 0.5})
    await conditions.note(redis)
    assert [one.name for one in await conditions.firing(redis)] == ["EndpointBacklog"]


@pytest.mark.usefixtures("quiet")
async def test_each_label_is_a_condition_of_its_own_and_below_is_wrong_too(redis, later):
    observer.IMBALANCE.show_all({("queued_but_lost",): 2, ("due_and_not_looked_at",): 0, ("overdue_with_room",): 1})
    observer.DAYS_AHEAD.show(2)
    await conditions.note(redis)
    later(WAIT)
    await conditions.note(redis)
    assert await said(redis) == [
        ("LedgerImbalance", "The ledger is not balanced: 2 times queued_but_lost."),
        ("LedgerImbalance", "The ledger is not balanced: 1 times overdue_with_room."),
        ("PartitionsMissing", "The event tables have partitions for 2 days only."),
    ]


@pytest.mark.usefixtures("quiet")
async def test_what_nobody_looks_at_is_not_known_and_unknown_conditions_are_left_out(redis, later):
    assert await conditions.firing(redis) is None
    await conditions.note(redis)
    assert await conditions.firing(redis) == []
    stranger = conditions.Held("OfALaterVersion", "later", "", 1.0, 0.0)
    noted = Noted(await redis_pool.time(redis), [stranger])
    await redis.set(conditions._KEY, conditions.msgspec.json.encode(noted))
    assert await conditions.firing(redis) == []
    later(31)
    assert await conditions.firing(redis) is None


@pytest.mark.usefixtures("quiet")
async def test_a_relay_that_is_cut_off_notes_nothing_while_another_has_the_lease(redis, later):
    """What holds would begin anew, and no page would come."""
    first, second = (Observer(redis, settings.get()) for _ in range(2))
    assert await first._has_lease()
    reach.FAILING.show_all({("unreached",): 0.75})
    await conditions.note(redis)
    later(61)
    await second._failed(OSError("cut off"))
    reach.FAILING.show_all({("unreached",): 0.75})  # here both have the same gauges
    await conditions.note(redis)
    assert [one.name for one in await conditions.firing(redis)] == ["NothingDelivered"]
    await redis.delete(observer._KEY)
    await second._failed(OSError("cut off"))
    later(61)
    await second._failed(OSError("cut off"))
    assert [one.name for one in await conditions.firing(redis)] == ["DatabaseDown"]


@pytest.mark.usefixtures("quiet")
async def test_the_clock_of_a_machine_does_not_matter(redis, monkeypatch):
    """An observer, and who shows the page, have one each."""
    await conditions.note(redis)
    true = time.time
    monkeypatch.setattr(time, "time", lambda: true() + 3600)
    assert await conditions.firing(redis) == []


@pytest.mark.usefixtures("quiet")
@pytest.mark.parametrize("text", ["nothing of ours", "[]", '{"at": "yesterday", "held": []}'])
async def test_what_is_not_ours_in_redis_is_written_over(redis, text):
    await redis.set(conditions._KEY, text)
    assert await conditions.firing(redis) is None
    await conditions.note(redis)
    assert await conditions.firing(redis) == []


async def test_the_observer_notes_what_it_has_found(redis, workspace):
    watching = Observer(redis, settings.get())
    await watching.update()
    assert await conditions.firing(redis) == []
    watching._clear()


@pytest.mark.usefixtures("quiet")
async def test_one_lost_delivery_fires_and_so_does_what_the_check_of_all_events_has_found(
    wire, redis, workspace, bot, receiver, later, db_clock
):
    """Each event is recent in two checks at most."""
    await endpoint(workspace, receiver.url, "lead.created")
    await db.rows("UPDATE webhook_endpoint SET updated_at = updated_at - interval '1 minute'")
    await make.lead(workspace, bot)
    await wire.turn()
    await db.rows("DELETE FROM attempt")
    await db.rows("DELETE FROM delivery_result")
    watching, began, fired = Observer(redis, settings.get()), clock.now(), []
    for minute in range(1, 15):
        later(60)
        await db_clock.forward(60)
        with clock.at(began + timedelta(minutes=minute)):
            watching._checked = float("-inf")
            await watching.update()
        fired.append(await said(redis))
    assert [("LedgerImbalance", "The ledger is not balanced: 1 times relayed_without_delivery.")] in fired
    assert fired[-1] == []
    await jobs.run("ledger")
    await watching._check()
    await conditions.note(redis)
    assert await said(redis) == [
        ("LedgerImbalance", "The last check of all events has found 1 times relayed_without_delivery.")
    ]
    watching._clear()


@pytest.mark.usefixtures("quiet")
async def test_missing_migrations_fire_even_where_nothing_else_can_be_looked_up(redis, workspace, later, monkeypatch):
    present = migrations.files()
    monkeypatch.setattr(migrations, "files", lambda: {**present, "2999-01-01T00:00:00:000000": Path("later.py")})
    monkeypatch.setattr(gauges, "STATEMENTS", {"counts": sql("SELECT later FROM outbox")})
    watching = Observer(redis, settings.get())
    await watching._round(asyncio.Event())
    later(61)
    await watching._round(asyncio.Event())
    assert await said(redis) == [
        ("MigrationsMissing", "The database lacks 1 migrations of the version that runs."),
    ]


@pytest.mark.usefixtures("quiet")
async def test_another_installation_on_our_redis_fires_until_it_is_gone(redis, workspace, later):
    now = await redis_pool.time(redis)
    await redis.zadd(installation._KEY, {"1/other": now + 3600})
    watching = Observer(redis, settings.get())
    await watching.update()
    later(61)
    await watching.update()
    assert [one.name for one in await conditions.firing(redis)] == ["RedisShared"]
    await redis.zadd(installation._KEY, {"1/other": now - 3600})
    await watching.update()
    assert await conditions.firing(redis) == []
    watching._clear()


@pytest.mark.usefixtures("quiet")
@pytest.mark.parametrize("error", [None, ConnectionRefusedError("no database")])
async def test_nothing_is_shown_of_a_server_that_does_not_answer_any_more(error, redis, workspace):
    """Else its last value calls somebody for as long as the process runs."""
    await redis.zadd(installation._KEY, {"1/other": await redis_pool.time(redis) + 3600})
    watching = Observer(redis, settings.get())
    await watching.update()
    assert observer.SHARING.values() == {(): 1}
    nobody = redis_pool.create_client("redis://127.0.0.1:1")
    watching._redis = nobody
    await (watching._failed(error) if error else watching.update())
    assert observer.SHARING.values() == {}
    assert observer.MISSING.values() == ({} if error else {(): 0})
    watching._clear()
    await nobody.aclose()


@pytest.mark.parametrize("one", CONDITIONS, ids=lambda one: f"{one.name}-{one.gauge}")
def test_a_condition_rests_on_a_gauge_and_its_labels(one):
    gauge = GAUGES[PREFIX + one.gauge]
    assert {one.by, one.of[0]} - {""} <= set(gauge.labels)
    assert ("{label}" in one.says) == bool(one.by)


@pytest.mark.parametrize(
    ("seconds", "text"), [(59, "59 s"), (90, "2 min"), (7199, "120 min"), (7200, "2.0 h"), (90_000, "25.0 h")]
)
def test_durations_are_short(seconds, text):
    assert conditions.duration(seconds) == text
