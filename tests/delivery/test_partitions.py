"""The event tables' days: nothing unfinished is dropped, and neither a wrong clock nor a long read does any harm."""

import asyncio
from datetime import UTC, date, datetime, time, timedelta

import asyncpg
import pytest

from leadwire.delivery.relay import partitions
from leadwire.delivery.relay.loop import Relay
from leadwire.delivery.relay.partitions import maintain
from leadwire.delivery.worker import hourly_stats
from leadwire.domain.webhooks import changes as webhooks
from leadwire.domain.workspaces import fence
from leadwire.infrastructure import clock, db, ids
from leadwire.infrastructure.db.other import connected
from tests import make
from tests.delivery.interleaved import apart, ended_or_blocked
from tests.delivery.wired import endpoint, redriven
from tests.waiting import eventually

_RETENTION = 30
_TABLES = ("event", "delivery_result", "attempt")
_KEYS = (("id", "event"), ("event_id", "delivery_result"), ("event_id", "attempt"))
_BY_DEFAULT = "SELECT {0} AS event_id FROM {1}_default ORDER BY 1"


def today() -> date:
    return clock.now().date()


async def existing() -> set[date]:
    return {row["day"] for row in await partitions._DAYS.rows()}


async def drop(*days: date) -> None:
    for day in days:
        for table in _TABLES:
            await db.rows(f"DROP TABLE {table}_{day:%Y%m%d}")


async def places(table: str = "event") -> set[str]:
    """The partitions that have rows."""
    return {row["name"] for row in await db.rows(f"SELECT DISTINCT tableoid::regclass::text AS name FROM {table}")}


@pytest.fixture(autouse=True)
async def usual_days(database):
    """The days that a fresh database has, before and after."""
    usual = {today() + timedelta(days=day) for day in range(-1, 8)}

    async def restore() -> None:
        await drop(*(await existing() - usual))
        await db.rows("SELECT make_event_partitions($1, $2)", min(usual), max(usual))

    await restore()
    yield
    await db.rows("SELECT test_clock.empty_tables()")
    await restore()


async def dead_letter_of(day: date, workspace: str, endpoint_id: str, hour: int = 12) -> str:
    """A day with an event whose delivery is dead, after an attempt."""
    await db.rows("SELECT make_event_partitions($1, $1)", day)
    event_id = ids.floor("evt", datetime.combine(day, time(hour), UTC))
    await db.rows(
        "INSERT INTO event (id, workspace_id, kind, body, occurred_at) "
        "VALUES ($1, $2, 'lead.created', '{}', now())", event_id, workspace)  # fmt: skip
    await db.rows(
        "INSERT INTO delivery_result (event_id, endpoint_id, workspace_id, state, attempts, generation, test, "
        "created_at, finished_at, last_outcome) "
        "VALUES ($1, $2, $3, 'dead', 4, 1, false, now(), now(), 'http_5xx')",
        event_id, endpoint_id, workspace)  # fmt: skip
    await db.rows(
        "INSERT INTO attempt (event_id, endpoint_id, generation, number, counted, started_at, duration_ms, outcome) "
        "VALUES ($1, $2, 1, 4, true, now(), 1, 'http_5xx')", event_id, endpoint_id)  # fmt: skip
    return event_id


async def test_an_old_day_goes_and_only_what_is_still_to_be_sent_stays(workspace, wire, receiver):
    """Its events and attempts are kept by default, until the deliveries have ended."""
    made = await endpoint(workspace, receiver.url)
    old, kept = today() - timedelta(days=_RETENTION + 1), today() - timedelta(days=_RETENTION)
    event_id = await dead_letter_of(old, workspace, made.id)
    await dead_letter_of(old, workspace, made.id, hour=13)
    await dead_letter_of(kept, workspace, made.id)
    await redriven(workspace, event_id)
    assert (await maintain(_RETENTION))[1] == [old]
    assert kept in await existing()
    by_default = [[row["event_id"] for row in await db.rows(_BY_DEFAULT.format(*one))] for one in _KEYS]
    assert by_default == [[event_id], [], [event_id]]
    assert await db.value("SELECT count(*) FROM every_delivery") == 2

    receiver.answer = 410
    await wire.turn()
    await webhooks.enable(workspace, made.id)
    receiver.answer = 204
    assert await redriven(workspace, event_id) == 1, "as long as it is there, it can be sent again"
    await maintain(_RETENTION)
    await wire.turn()
    assert [one.webhook_id for one in receiver.deliveries] == [event_id] * 2
    assert await db.value("SELECT count(*) FROM attempt WHERE event_id = $1", event_id) == 3
    await maintain(_RETENTION)
    assert [await db.value(f"SELECT count(*) FROM {table}_default") for table in _TABLES] == [0, 0, 0]


async def test_what_a_workspace_that_has_moved_has_left_keeps_no_day(workspace, receiver, servers):
    """Its changes are refused here, until somebody deletes it."""
    made = await endpoint(workspace, receiver.url)
    old = today() - timedelta(days=_RETENTION + 1)
    event_id = await dead_letter_of(old, workspace, made.id)
    await redriven(workspace, event_id)
    async with connected(servers.database_url) as here:
        await fence.build(here, workspace)
    await db.rows("UPDATE workspace SET move_id = 'mv_1' WHERE id = $1", workspace)
    try:
        assert (await maintain(_RETENTION))[1] == [old]
        assert [row["event_id"] for row in await db.rows(_BY_DEFAULT.format("id", "event"))] == [event_id]
        with pytest.raises(db.Moving):
            await db.rows("UPDATE event SET body = ''")
    finally:
        await fence.remove(workspace)


async def test_what_is_redriven_just_before_its_day_would_be_dropped_is_kept(workspace, wire, receiver):
    """The redrive has not committed yet when the day is looked at."""
    made = await endpoint(workspace, receiver.url)
    old = today() - timedelta(days=_RETENTION + 10)
    event_id = await dead_letter_of(old, workspace, made.id)
    async with db.transaction():
        assert await redriven(workspace, event_id) == 1
        tending = apart(maintain(_RETENTION))
        await ended_or_blocked(tending)
    await asyncio.wait([tending])
    tending.exception()  # a lock that it did not have in time is no fault
    assert await db.value("SELECT state FROM every_delivery WHERE event_id = $1", event_id) == "waiting"
    await wire.turn()
    assert [one.webhook_id for one in receiver.deliveries] == [event_id]


async def test_what_is_redriven_just_before_it_would_be_deleted_by_default_is_kept(workspace, wire, receiver):
    """With its attempts. It had been kept for a delivery that has ended."""
    made = await endpoint(workspace, receiver.url)
    event_id = await dead_letter_of(today() - timedelta(days=_RETENTION + 10), workspace, made.id)
    await redriven(workspace, event_id)
    for _ in range(2):  # the second makes the days since
        await maintain(_RETENTION)
    receiver.answer = 410
    await wire.turn()
    await webhooks.enable(workspace, made.id)
    receiver.answer = 204
    async with db.transaction():
        assert await redriven(workspace, event_id) == 1
        tending = apart(maintain(_RETENTION))
        await ended_or_blocked(tending)
    await tending
    await wire.turn()
    assert await db.value("SELECT state FROM every_delivery WHERE event_id = $1", event_id) == "delivered"
    assert await db.value("SELECT count(*) FROM attempt WHERE event_id = $1", event_id) == 3


@pytest.mark.parametrize("whose", ["relay", "database"])
async def test_a_clock_45_days_ahead_drops_nothing(workspace, bot, wire, receiver, db_clock, whose):
    await endpoint(workspace, receiver.url)
    await make.lead(workspace, bot)
    await wire.turn()
    await hourly_stats.flush()
    before = await existing()
    if whose == "database":
        await db_clock.forward(45 * 86_400)
        await maintain(_RETENTION)
    else:
        with clock.at(clock.now() + timedelta(days=45)):
            await maintain(_RETENTION)
    assert before <= await existing()
    assert await db.value("SELECT count(*) FROM every_delivery WHERE state = 'delivered'") == 1
    assert await db.value("SELECT count(*) FROM endpoint_hour") == 1


async def test_today_is_made_from_the_default_partition_while_events_come(workspace, bot, wire):
    """An event that is written while today's are moved over is not in the way; nor are the days ahead lost."""
    await drop(today(), today() + timedelta(days=7))
    await make.lead(workspace, bot)
    async with db.transaction():
        await make.lead(workspace, bot, email="late@example.com")
        tending = apart(maintain(_RETENTION))
        await ended_or_blocked(tending)
    await asyncio.wait([tending])
    if error := tending.exception():
        assert isinstance(error, asyncpg.LockNotAvailableError)
    await maintain(_RETENTION)
    assert {today(), today() + timedelta(days=7)} <= await existing()
    assert await places() == {f"event_{today():%Y%m%d}"}


async def test_a_change_that_comes_while_today_is_made_does_not_fail(workspace, bot, wire, monkeypatch):
    """Its event would have gone to the default partition, which takes no more of today when its turn comes."""
    await drop(today())
    monkeypatch.setattr(partitions, "_LOCK_TIMEOUT", "4min")
    blocked = "SELECT count(*) FROM pg_locks WHERE NOT granted"
    async with db.transaction():
        await db.rows("SELECT 1 FROM attempt_default")  # today's events are moved by then, its attempts are not
        tending = apart(maintain(_RETENTION))
        await eventually(lambda: db.value(f"{blocked} HAVING count(*) = 1"))
        change = apart(make.lead(workspace, bot))
        await eventually(lambda: db.value(f"{blocked} HAVING count(*) = 2"))
    await asyncio.gather(tending, change)
    assert await places() == {f"event_{today():%Y%m%d}"}


async def test_a_day_that_fails_takes_no_other_with_it(workspace, bot, wire, monkeypatch):
    await drop(today(), today() + timedelta(days=7))
    fetch = db.DB.fetch

    async def failing(sql, args):
        if "make_event_partitions" in sql and args[0] == today():
            raise asyncpg.CheckViolationError("partition constraint of relation")
        return await fetch(sql, args)

    with monkeypatch.context() as patched:
        patched.setattr(db.DB, "fetch", failing)
        with pytest.raises(asyncpg.CheckViolationError):
            await maintain(_RETENTION)
    assert today() + timedelta(days=7) in await existing()


async def test_rows_of_days_that_nobody_made_get_their_days(workspace, bot, wire):
    yesterday = today() - timedelta(days=1)
    await drop(yesterday)
    await db.rows(
        "INSERT INTO event (id, workspace_id, kind, body, occurred_at) "
        "VALUES ($1, $2, 'lead.created', '{}', now())",
        ids.floor("evt", datetime.combine(yesterday, time(12), UTC)), workspace)  # fmt: skip
    assert await places() == {"event_default"}
    assert (await maintain(_RETENTION))[0] == [yesterday]
    assert await places() == {f"event_{yesterday:%Y%m%d}"}


async def test_a_long_read_makes_no_write_wait_behind_the_relay(workspace, bot, wire, monkeypatch):
    """What asks for a lock on everybody's tables gives up after 50 ms, and comes again soon."""
    ahead, old = today() + timedelta(days=7), today() - timedelta(days=_RETENTION + 10)
    await drop(ahead)
    await db.rows("SELECT make_event_partitions($1, $1)", old)
    patience: list[int] = []
    fetch = db.DB.fetch

    async def noted(sql, args):
        if any(word in sql for word in ("LOCK TABLE", "make_event", "DROP TABLE")):
            found = await fetch("SELECT setting::int FROM pg_settings WHERE name = 'lock_timeout'", ())
            patience.append(found[0][0])
        return await fetch(sql, args)

    monkeypatch.setattr(db.DB, "fetch", noted)
    relay = Relay(wire.redis, wire.settings)
    async with db.transaction():
        await db.rows("SELECT count(*) FROM event")  # every partition is in this reader's hands
        again = await apart(relay.maintain())
        assert again <= 15
        assert ahead not in await existing()
    assert patience
    await relay.maintain()
    assert ahead in await existing()
    assert old not in await existing()
    assert set(patience) == {50}
