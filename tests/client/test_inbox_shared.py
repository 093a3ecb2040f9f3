"""Deliveries at the same moment that share one connection, with each database and driver of the inbox."""

import asyncio
import functools
import sqlite3
from concurrent.futures import ThreadPoolExecutor
from contextlib import closing, suppress

import pytest

from leadwire_client import compare_async
from leadwire_client.inbox import TABLE, once
from tests.client.handling import Boom, Receiver, connections
from tests.client.test_checkpoint import checkpoint
from tests.client.test_inbox import SQL

AWAITING = ["psycopg-async", "asyncpg", "aiosqlite"]
STEPS = 30  # statements of a block: more than what another delivery needs, so that it would end meanwhile


@pytest.fixture
async def connect(tables, servers, tmp_path):
    async with connections(servers, tmp_path / "receiver.db") as opened:
        yield opened


@pytest.fixture
def beside():
    """Makes another receiver on the connection of one: another thread where it blocks, else what another task uses."""
    threads = []

    def another(one):
        if not one.thread:
            return one
        threads.append(ThreadPoolExecutor(1))
        return Receiver(one.connection, threads[-1])

    yield another
    for thread in threads:
        thread.shutdown()


async def is_open(receiver):
    """Whether a transaction has been left open on the connection."""
    if isinstance(receiver.connection, sqlite3.Connection) or hasattr(receiver.connection, "in_transaction"):
        return receiver.connection.in_transaction
    if hasattr(receiver.connection, "is_in_transaction"):
        return receiver.connection.is_in_transaction()
    return receiver.connection.info.transaction_status != 0


@pytest.mark.parametrize("fails", [False, True])
@pytest.mark.parametrize("driver", SQL)
async def test_a_second_delivery_on_the_connection_waits_for_the_first(driver, fails, connect, beside):
    one, reader = await connect(driver), await connect(driver)
    other = beside(one)
    with suppress(Boom):
        async with one.once() as first:
            assert first
            await one.effect()
            second = asyncio.create_task(other.handle())
            for _ in range(STEPS):
                await one.fetch("SELECT 1")
            if fails:
                raise Boom
    assert await second is fails
    assert await reader.effects() == 1
    assert not await reader.handle()


@pytest.mark.parametrize("fails", [False, True])
@pytest.mark.parametrize("driver", SQL)
async def test_two_events_on_the_connection_take_effect_apart(driver, fails, connect, beside):
    """The second is still in its block when the first ends: it has not become a part of it."""
    one, reader = await connect(driver), await connect(driver)
    other = beside(one)

    async def handle():
        async with other.once("evt_2") as first:
            for _ in range(STEPS):
                await other.fetch("SELECT 1")
            await other.effect()
        return first

    with suppress(Boom):
        async with one.once():
            await one.effect()
            second = asyncio.create_task(handle())
            for _ in range(STEPS // 2):
                await one.fetch("SELECT 1")
            if fails:
                raise Boom
    assert await second
    assert not await is_open(one)
    assert await reader.effects() == (1 if fails else 2)
    assert [await one.handle(), await one.handle("evt_2")] == [fails, False]


@pytest.mark.parametrize("driver", SQL)
async def test_of_many_on_the_connection_each_takes_effect_once(driver, connect, beside):
    one, reader = await connect(driver), await connect(driver)
    entered = await asyncio.gather(*(beside(one).handle(f"evt_{number % 4}") for number in range(12)))
    assert entered.count(True) == 4
    assert await reader.effects() == 4
    assert not await is_open(one)


@pytest.mark.parametrize("driver", AWAITING)
async def test_one_that_is_cancelled_while_it_waits_holds_nobody_up(driver, connect):
    one, reader = await connect(driver), await connect(driver)
    async with one.once():
        waiting = [asyncio.create_task(one.handle(f"evt_{number}")) for number in (2, 3)]
        await asyncio.wait(waiting, timeout=0)
        waiting[0].cancel()
        await one.effect()
    with pytest.raises(asyncio.CancelledError):
        await waiting[0]
    assert await waiting[1]
    assert await reader.effects() == 2
    assert [await one.handle("evt_2"), await one.handle("evt_3")] == [True, False]


@pytest.mark.parametrize("driver", SQL)
async def test_within_a_block_its_own_task_or_thread_goes_on(driver, connect):
    one, reader = await connect(driver), await connect(driver)
    async with one.once(number=1):
        assert await one.handle("evt_2", number=2)
        assert await one.check_numbers() == ([], {})
        assert await reader.effects() == 0
    assert await reader.effects() == 1


@pytest.mark.parametrize("driver", AWAITING)
@pytest.mark.parametrize("check", ["check_numbers", "compare"])
async def test_a_check_waits_for_the_block_of_another_task(driver, check, connect):
    one, reader = await connect(driver), await connect(driver)
    checks = {
        "check_numbers": one.check_numbers,
        "compare": functools.partial(compare_async, one.connection, checkpoint(1)),
    }
    async with one.once(number=1):
        checking = asyncio.create_task(checks[check]())
        for _ in range(STEPS):
            await one.fetch("SELECT 1")
        await one.effect()
    await checking
    assert await reader.effects() == 1


async def test_another_task_of_the_thread_is_refused_where_to_wait_would_be_for_ever(tmp_path):
    """Its blocking connection would hold up the thread in which the block has to go on."""
    file = tmp_path / "receiver.db"
    with closing(sqlite3.connect(file)) as connection, closing(sqlite3.connect(file)) as reader:
        connection.execute(TABLE)

        async def handle():
            with once(connection, "evt_2") as first:
                return first

        with once(connection, "evt_1"), pytest.raises(RuntimeError, match="another task"):
            await asyncio.create_task(handle())
        assert await asyncio.create_task(handle())
        assert reader.execute("SELECT id FROM webhook_inbox ORDER BY id").fetchall() == [("evt_1",), ("evt_2",)]
