"""The connection pool: no task waits forever, and no broken connection is handed out again."""

import asyncio
import os
import signal
from collections.abc import AsyncIterator, Iterator
from contextlib import ExitStack, contextmanager

import asyncpg
import pytest

from leadwire.infrastructure import db
from leadwire.infrastructure.db import engine
from leadwire.infrastructure.db.pool import Pool
from leadwire_development.embedded import Services
from tests.delivery.elsewhere import moved_to

SIZE = 2


@pytest.fixture
async def pool(servers: Services) -> AsyncIterator[Pool]:
    pool = Pool(await asyncpg.create_pool(servers.database_url, min_size=0, max_size=SIZE))
    yield pool
    await asyncio.wait_for(pool.close(), 240)


async def backend(connection: asyncpg.Connection) -> int:
    found: int = await connection.fetchval("SELECT pg_backend_pid()")
    return found


async def test_a_released_connection_is_the_next_to_be_acquired(pool: Pool) -> None:
    first = await pool.acquire()
    number = await backend(first)
    pool.release(first)
    second = await pool.acquire()
    assert await backend(second) == number
    pool.release(second)


@pytest.mark.parametrize("values", [["many"], [2**40], [], [1, 2]])
async def test_a_value_that_cannot_be_sent_leaves_no_table_locked(
    database: None, servers: Services, values: list[object]
) -> None:
    """asyncpg has had the statement prepared by then, without an end: until one comes, the server waits in it."""
    with pytest.raises((asyncpg.DataError, asyncpg.InterfaceError)):
        await db.rows("SELECT 1 FROM lead WHERE score = $1", *values)
    connection = await asyncpg.connect(servers.database_url)
    found = "SELECT count(*) FROM pg_locks WHERE relation = 'lead'::regclass"
    assert await connection.fetchval(found) == 0
    await connection.close()


async def test_who_waits_longest_is_served_first_and_there_are_never_more_than_the_limit(pool: Pool) -> None:
    in_use = 0
    most = 0
    served: list[int] = []

    async def use(number: int) -> None:
        nonlocal in_use, most
        connection = await pool.acquire()
        in_use += 1
        most = max(most, in_use)
        served.append(number)
        await connection.fetchval("SELECT 1")
        in_use -= 1
        pool.release(connection)

    for connection in [await pool.acquire() for _ in range(SIZE)]:  # connecting takes longer than waiting
        pool.release(connection)
    await asyncio.gather(*(use(number) for number in range(50)))
    assert most == SIZE
    assert served == list(range(50))


async def test_one_who_stops_waiting_takes_nothing_along(pool: Pool) -> None:
    held = [await pool.acquire() for _ in range(SIZE)]
    waiting = [asyncio.create_task(pool.acquire()) for _ in range(3)]
    await asyncio.sleep(0)
    waiting[0].cancel()
    pool.release(held[0])  # goes to waiting[1]
    waiting[1].cancel()  # in the very moment it came
    await asyncio.gather(*waiting[:2], return_exceptions=True)
    assert await asyncio.wait_for(waiting[2], 240) is held[0]
    for connection in held:
        pool.release(connection)


async def test_a_connection_that_broke_while_idle_is_replaced(pool: Pool) -> None:
    connection = await pool.acquire()
    number = await backend(connection)
    pool.release(connection)
    connection.terminate()
    again = await pool.acquire()
    assert await backend(again) != number
    pool.release(again)


async def test_a_dropped_connection_makes_room_for_who_waits(pool: Pool) -> None:
    held = [await pool.acquire() for _ in range(SIZE)]
    waiting = asyncio.create_task(pool.acquire())
    await asyncio.sleep(0)
    await pool.drop(held[0])
    pool.release(await asyncio.wait_for(waiting, 240))
    pool.release(held[1])


async def test_a_connection_that_cannot_be_opened_does_not_count() -> None:
    pool = Pool(await asyncpg.create_pool("postgresql://nobody@127.0.0.1:1/none", min_size=0, max_size=1))
    for _ in range(3):
        with pytest.raises(OSError):
            await asyncio.wait_for(pool.acquire(), 240)
    await asyncio.wait_for(pool.close(), 240)


async def test_a_connection_whose_server_hangs_is_given_up(pool: Pool, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(Pool, "patience", 0.2)
    connection = await pool.acquire()
    number = await backend(connection)
    with stopped(number):
        with pytest.raises(TimeoutError):
            await connection.fetch("SELECT pg_sleep(60)", timeout=0.1)
        await asyncio.wait_for(pool.drop(connection), 240)
    again = await pool.acquire()
    assert await backend(again) != number
    pool.release(again)


async def test_a_transaction_on_a_server_that_hangs_ends(database: None, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(Pool, "patience", 0.2)
    monkeypatch.setattr(engine, "LIMITS", {"maintenance": 0.2})
    before = db.pool_use()["used"]

    async def hang(stack: ExitStack) -> None:
        async with db.transaction():
            stack.enter_context(stopped(await db.value("SELECT pg_backend_pid()")))
            await db.rows("SELECT 1")

    with ExitStack() as stack, pytest.raises(db.Canceled):
        await asyncio.wait_for(hang(stack), 240)
    assert db.pool_use()["used"] == before


@contextmanager
def stopped(process: int) -> Iterator[None]:
    """The server's process does nothing inside the block."""
    os.kill(process, signal.SIGSTOP)
    try:
        yield
    finally:
        os.kill(process, signal.SIGCONT)


async def test_close_waits_for_connections_in_use(servers: Services) -> None:
    pool = Pool(await asyncpg.create_pool(servers.database_url, min_size=0, max_size=SIZE))
    connection = await pool.acquire()
    closing = asyncio.create_task(pool.close())
    await asyncio.sleep(0)
    assert not closing.done()
    assert await connection.fetchval("SELECT 1") == 1
    pool.release(connection)
    await asyncio.wait_for(closing, 240)


async def test_none_is_opened_but_for_who_wants_one(servers: Services, database: None) -> None:
    """Else `Pool` would not count it, and a frozen server would be asked for it again and again."""
    async with moved_to(servers.database_url, "engine"):
        assert db.DB.connections is not None
        await db.DB.connections.abandon()
        assert db.DB.watching is not None
        db.DB.watching.cancel()  # on a slow machine it asks the server whether it is there
        before = asyncio.all_tasks()
        assert await db.value("SELECT 1") == 1
        assert asyncio.all_tasks() <= before
        assert db.DB.pool is not None
        assert db.DB.pool.get_size() == 1


async def test_a_transaction_that_ends_while_the_pool_closes_gives_its_connection_back(
    servers: Services, database: None
) -> None:
    """Else a process that stops amid a transaction never ends."""
    async with moved_to(servers.database_url, "engine"):
        async with db.transaction():
            await db.rows("SELECT 1")
            closing = asyncio.create_task(db.close_pool())
            await asyncio.sleep(0)
            assert db.DB.connections is None
        await asyncio.wait_for(closing, 240)
