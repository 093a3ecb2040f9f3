"""A delivery that comes twice takes effect once, with each database and driver that the inbox is for."""

import asyncio
import functools
import sqlite3
import threading
from contextlib import closing, suppress
from types import SimpleNamespace

import asyncpg
import psycopg
import pytest

from leadwire_client import InProgress, inbox
from leadwire_client.inbox import TABLE, once
from tests.client.handling import Boom, connections
from tests.waiting import eventually

DRIVERS = ["psycopg", "psycopg-async", "asyncpg", "sqlite3", "aiosqlite", "redis", "redis-async"]
SQL = DRIVERS[:5]
POSTGRES = DRIVERS[:3]
WAITING = "SELECT count(*) FROM pg_stat_activity WHERE wait_event_type = 'Lock' AND query LIKE '%webhook_inbox%'"


@pytest.fixture
async def connect(tables, servers, tmp_path):
    """Open a connection of a driver. All of them are closed after the test."""
    async with connections(servers, tmp_path / "receiver.db") as opened:
        yield opened


@pytest.fixture
def held():
    """Work that a thread does until it may go on."""
    working, go = threading.Event(), threading.Event()

    def work():
        working.set()
        go.wait(240)

    return SimpleNamespace(work=work, working=working, go=go)


@pytest.mark.parametrize("driver", DRIVERS)
async def test_a_delivery_that_comes_twice_takes_effect_once(driver, connect):
    one, other = await connect(driver), await connect(driver)
    assert [await one.handle(), await one.handle(), await other.handle(), await other.handle("evt_2")] == [
        True, False, False, True,
    ]  # fmt: skip
    assert await one.effects() == 2


@pytest.mark.parametrize("driver", DRIVERS)
async def test_a_failed_delivery_takes_effect_the_next_time(driver, connect):
    one, other = await connect(driver), await connect(driver)
    with pytest.raises(Boom):
        await one.handle(fails=True)
    if driver in SQL:
        assert await other.effects() == 0
    assert [await other.handle(), await one.handle()] == [True, False]
    with pytest.raises(Boom):
        await one.handle(fails=True)  # a repetition that fails changes nothing
    assert not await other.handle()
    assert await one.effects() == (1 if driver in SQL else 2)


@pytest.mark.parametrize("driver", ["psycopg-async", "asyncpg", "aiosqlite", "redis-async"])
async def test_a_cancelled_delivery_takes_effect_the_next_time(driver, connect):
    one, other = await connect(driver), await connect(driver)

    async def hang():
        async with one.once():
            entered.set()
            await asyncio.Event().wait()

    entered = asyncio.Event()
    hanging = asyncio.create_task(hang())
    await entered.wait()
    hanging.cancel()
    with pytest.raises(asyncio.CancelledError):
        await hanging
    assert [await other.handle(), await one.handle()] == [True, False]


async def test_a_delivery_that_is_cancelled_at_its_begin_leaves_no_transaction_open(connect, held):
    """Its BEGIN is under way, and ends although it is cancelled."""
    one, other = await connect("aiosqlite"), await connect("aiosqlite")
    asked = []
    await one.connection.set_trace_callback(lambda sql: (asked.append(sql), sql == "BEGIN" and held.work()))
    waiting = asyncio.create_task(one.handle())
    assert await asyncio.to_thread(held.working.wait, 240)
    waiting.cancel()
    await asyncio.wait([waiting], timeout=0)
    held.go.set()
    with pytest.raises(asyncio.CancelledError):
        await waiting
    assert asked == ["BEGIN", "ROLLBACK"]
    await one.connection.set_trace_callback(None)
    assert [await one.handle(), await other.handle()] == [True, False]


async def test_a_delivery_that_waits_for_a_statement_of_its_connection_holds_up_nobody_else(connect, held):
    """Nor that statement, which goes on in Python: both waited for ever, and the whole process with them."""
    one = await connect("aiosqlite")
    await one.connection.create_function("work", 0, held.work)
    busy = asyncio.create_task(one.fetch("SELECT work()"))
    assert await asyncio.to_thread(held.working.wait, 240)
    waiting = asyncio.create_task(one.handle())
    await asyncio.wait([waiting], timeout=0)
    held.go.set()
    await busy
    assert await waiting


@pytest.mark.parametrize("fails", [False, True])
@pytest.mark.parametrize("driver", SQL)
async def test_a_second_delivery_waits_for_the_first(driver, fails, connect, tables):
    one, other = await connect(driver), await connect(driver)
    with suppress(Boom):
        async with one.once() as first:
            assert first
            await one.effect()
            begun = []
            if driver not in POSTGRES:
                await other.do("set_trace_callback", begun.append)
            second = asyncio.create_task(other.handle())
            if driver in POSTGRES:
                await eventually(lambda: tables.fetchval(WAITING))
            else:
                await eventually(lambda: any("INSERT INTO webhook_inbox" in sql for sql in begun))
            assert not second.done()
            if fails:
                raise Boom
    assert await second is fails
    assert await one.effects() == 1


@pytest.mark.parametrize("driver", DRIVERS)
async def test_of_many_at_once_one_takes_effect(driver, connect):
    receivers = [await connect(driver) for _ in range(8)]
    entered = await asyncio.gather(*(one.handle() for one in receivers), return_exceptions=True)
    assert entered.count(True) == 1
    others = [one for one in entered if one is not True]
    assert all(one is False or (driver not in SQL and isinstance(one, InProgress)) for one in others), others
    assert await receivers[0].effects() == 1


@pytest.mark.parametrize("driver", SQL)
async def test_the_block_is_part_of_an_open_transaction(driver, connect):
    options = {"isolation_level": None} if "sqlite" in driver else {}
    one, other = await connect(driver, **options), await connect(driver)
    for undone in (True, False):
        with suppress(Boom):
            async with one.transaction():
                assert await one.handle()
                with pytest.raises(Boom):
                    await one.handle("evt_2", fails=True)
                assert await other.effects() == 0
                if undone:
                    raise Boom
        assert await one.effects() == (0 if undone else 1)
    assert [await other.handle(), await other.handle("evt_2")] == [False, True]


@pytest.mark.parametrize("driver", ["psycopg", "psycopg-async", "sqlite3", "aiosqlite"])
async def test_a_transaction_that_the_driver_opened_is_yours_to_commit(driver, connect):
    options = {"autocommit": False} if "psycopg" in driver else {}
    one, other = await connect(driver, **options), await connect(driver)
    assert await one.handle()  # nothing was open: committed
    assert await other.effects() == 1
    await one.effect()
    assert await one.handle("evt_2")
    assert await other.effects() == 1
    await one.do("rollback")
    assert await other.handle("evt_2")
    assert await other.effects() == 2


@pytest.mark.parametrize("driver", SQL)
async def test_old_rows_are_deleted_now_and_then_and_not_all_at_once(driver, connect, monkeypatch):
    one = await connect(driver)
    ago = "datetime('now', '-{} days')" if "sqlite" in driver else "now() - interval '{} days'"
    for days, count in ((31, 300), (29, 10)):
        await one.do(
            "execute",
            f"WITH RECURSIVE n(i) AS (SELECT 1 UNION ALL SELECT i + 1 FROM n WHERE i < {count})"
            f" INSERT INTO webhook_inbox SELECT 'old_{days}_' || i, {ago.format(days)} FROM n",
        )
    if "sqlite" in driver:
        await one.do("commit")
    left = []
    for number, drawn in enumerate([1, 0, 0, 0]):
        monkeypatch.setattr(inbox.secrets, "randbelow", lambda below, drawn=drawn: drawn)
        assert await one.handle(f"evt_{number}", days=30)
        left.append((await one.fetch("SELECT count(*) FROM webhook_inbox WHERE id LIKE 'old%'"))[0][0])
    assert left == [310, 110, 10, 10]
    assert await one.handle("old_31_1")
    assert not await one.handle("old_29_1")


@pytest.mark.parametrize("driver", POSTGRES)
async def test_two_that_clean_do_not_wait_for_each_other(driver, connect, monkeypatch, tables):
    await tables.execute("INSERT INTO webhook_inbox SELECT 'old' || n, '2020-01-01' FROM generate_series(1, 300) n")
    monkeypatch.setattr(inbox.secrets, "randbelow", lambda below: 0)
    one, other = await connect(driver), await connect(driver)
    async with asyncio.timeout(240), one.once("evt_1"), other.once("evt_2"):
        pass
    assert await tables.fetchval("SELECT count(*) FROM webhook_inbox") == 2


def test_cleaning_happens_about_once_in_fifty_calls():
    with closing(sqlite3.connect(":memory:")) as connection:
        connection.execute(TABLE)
        connection.execute("INSERT INTO webhook_inbox VALUES ('old', '2020-01-01 00:00:00')")
        connection.commit()
        for number in range(1000):  # all of them miss in 1 of 600 million runs
            with once(connection, f"evt_{number}"):
                pass
        assert connection.execute("SELECT count(*) FROM webhook_inbox").fetchone() == (1000,)


@pytest.mark.parametrize("driver", DRIVERS)
@pytest.mark.parametrize(
    "webhook_id", ["", "x" * 256, "x" * 10_000, "evt\0", "evt\n", "é", "\udcff", None, b"evt", 1], ids=ascii
)
async def test_what_cannot_be_an_id_is_refused(driver, webhook_id, connect):
    receiver = await connect(driver)
    with pytest.raises(ValueError, match="webhook_id must be 1 to 255 printable ASCII characters"):
        await receiver.handle(webhook_id)
    assert await receiver.effects() == 0


@pytest.mark.parametrize("driver", DRIVERS)
async def test_an_id_may_be_long_and_odd(driver, connect):
    receiver = await connect(driver)
    for webhook_id in ("x" * 255, "'; DROP TABLE effect; --", "%s {} $1 ?"):
        assert [await receiver.handle(webhook_id), await receiver.handle(webhook_id)] == [True, False]


@pytest.mark.parametrize("options", [{"days": 0}, {"days": -1}, {"lease": 0}])
def test_times_that_would_forget_at_once_are_refused(options):
    with closing(sqlite3.connect(":memory:")) as connection, pytest.raises(ValueError, match="at least 1"):
        once(connection, "evt_1", **options)


@pytest.mark.parametrize("driver", DRIVERS)
async def test_the_wrong_kind_of_with_is_refused_before_anything_happens(driver, connect):
    receiver = await connect(driver)
    block = once(receiver.connection, "evt_1")
    with pytest.raises(TypeError, match="use `with`" if receiver.thread else "use `async with`"):
        _ = await block.__aenter__() if receiver.thread else block.__enter__()
    assert await receiver.handle()


def test_what_is_no_connection_is_refused():
    for other in (None, "postgresql://", object()):
        with pytest.raises(TypeError, match="not a connection"):
            once(other, "evt_1")


async def test_a_connection_of_a_pool_will_do(servers, tables):
    async with (
        asyncpg.create_pool(servers.database_url, min_size=1, server_settings={"search_path": "receiver"}) as pool,
        pool.acquire() as connection,
    ):
        for expected in (True, False):
            async with once(connection, "evt_1") as first:
                assert first is expected
        with pytest.raises(TypeError, match="not a connection"):
            once(pool, "evt_1")


async def test_in_pipeline_mode_the_answer_is_waited_for(connect):
    receiver = await connect("psycopg-async")
    for expected in (True, False):
        async with receiver.connection.pipeline(), once(receiver.connection, "evt_1") as first:
            assert first is expected


@pytest.mark.parametrize("driver", SQL)
async def test_a_missing_table_is_said_and_nothing_stays_open(driver, connect):
    receiver = await connect(driver)
    await receiver.do("execute", "DROP TABLE webhook_inbox")
    for _ in range(2):
        with pytest.raises((psycopg.Error, asyncpg.PostgresError, sqlite3.Error), match="webhook_inbox"):
            await receiver.handle()
    await receiver.do("execute", TABLE)
    assert await receiver.handle()


async def test_a_full_disk_of_sqlite_is_said_as_such(connect):
    receiver = await connect("sqlite3")
    pages = receiver.connection.execute("PRAGMA page_count").fetchone()[0]
    receiver.connection.execute(f"PRAGMA max_page_count = {pages}")
    with pytest.raises(sqlite3.OperationalError, match="full"):
        async with receiver.once():
            receiver.connection.execute("INSERT INTO effect SELECT zeroblob(1000000)")
    assert not receiver.connection.in_transaction
    receiver.connection.execute("PRAGMA max_page_count = 1000000")
    assert await receiver.handle()


async def test_a_commit_that_sqlite_refuses_undoes_the_block(connect):
    one, reader = await connect("sqlite3", timeout=0), await connect("sqlite3")
    assert await one.fetch("PRAGMA journal_mode = delete") == [("delete",)]  # in it, a commit needs all readers gone
    await reader.do("execute", "BEGIN")
    assert await reader.effects() == 0
    with pytest.raises(sqlite3.OperationalError, match="locked"):
        await one.handle()
    assert not one.connection.in_transaction
    await reader.do("rollback")
    assert await one.handle()
    assert await reader.effects() == 1


async def test_a_snapshot_that_is_older_than_the_first_delivery_fails_instead_of_handling_twice(connect):
    one, other = await connect("asyncpg"), await connect("asyncpg")
    async with other.connection.transaction(isolation="repeatable_read"):
        assert await other.effects() == 0
        assert await one.handle()
        with pytest.raises(asyncpg.SerializationError):
            await other.handle()
    assert not await other.handle()


@pytest.mark.parametrize("decode", [False, True])
@pytest.mark.parametrize("driver", ["redis", "redis-async"])
async def test_redis_keeps_an_id_for_the_lease_and_then_for_days(driver, decode, connect):
    one, other = await connect(driver, decode_responses=decode), await connect(driver)
    async with one.once(lease=4000) as first:
        assert first
        assert 3000 < await one.do("ttl", "webhook_inbox:evt_1") <= 4000
        with pytest.raises(InProgress, match="answer 500"):
            await other.handle()
    assert 86_000 <= await one.do("ttl", "webhook_inbox:evt_1") <= 60 * 86_400
    assert not await one.handle()


async def _is_released(receiver, webhook_id):
    return not await receiver.do("exists", f"webhook_inbox:{webhook_id}")


@pytest.mark.parametrize("driver", ["redis", "redis-async"])
async def test_redis_releases_an_id_whose_process_died(driver, connect):
    one, other = await connect(driver), await connect(driver)
    block = one.once(lease=1)
    assert await block.__aenter__()
    await eventually(functools.partial(_is_released, other, "evt_1"))
    assert await other.handle()
    assert not await block.__aexit__(Boom, Boom(), None)
    assert not await other.handle()  # the late one did not release the id of the other


@pytest.mark.parametrize("driver", ["redis", "redis-async"])
async def test_the_error_of_the_block_is_told_also_when_redis_cannot_be_reached(driver, connect, monkeypatch):
    async def away(*args):
        raise ConnectionError

    receiver = await connect(driver)
    block = receiver.once()
    assert await block.__aenter__()
    monkeypatch.setattr(receiver.connection, "eval", away)
    assert not await block.__aexit__(Boom, Boom(), None)  # Boom goes on
    assert 0 < await receiver.do("ttl", "webhook_inbox:evt_1") <= 60
