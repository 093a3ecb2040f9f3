"""The lender of connections: nobody waits for ever, nothing broken is lent again."""

import asyncio
from collections.abc import AsyncIterator

import asyncpg
import pytest

from leadwire.development.embedded import Services
from leadwire.infrastructure.db.pool import Pool

SIZE = 2


@pytest.fixture
async def lender(servers: Services) -> AsyncIterator[Pool]:
    pool = await asyncpg.create_pool(servers.database_url, min_size=0, max_size=SIZE)
    lender = Pool(pool)
    yield lender
    await asyncio.wait_for(lender.close(), 5)


async def backend(connection: asyncpg.Connection) -> int:
    found: int = await connection.fetchval("SELECT pg_backend_pid()")
    return found


async def test_a_connection_that_came_back_is_the_next_to_be_lent(lender: Pool) -> None:
    first = await lender.borrow()
    number = await backend(first)
    lender.give_back(first)
    second = await lender.borrow()
    assert await backend(second) == number
    lender.give_back(second)


async def test_who_waits_longest_is_served_first_and_never_more_are_lent_than_there_are(lender: Pool) -> None:
    lent = 0
    most = 0
    served: list[int] = []

    async def use(number: int) -> None:
        nonlocal lent, most
        connection = await lender.borrow()
        lent += 1
        most = max(most, lent)
        served.append(number)
        await connection.fetchval("SELECT 1")
        lent -= 1
        lender.give_back(connection)

    for connection in [await lender.borrow() for _ in range(SIZE)]:  # connecting takes longer than waiting
        lender.give_back(connection)
    await asyncio.gather(*(use(number) for number in range(50)))
    assert most == SIZE
    assert served == list(range(50))


async def test_one_who_stops_waiting_takes_nothing_along(lender: Pool) -> None:
    held = [await lender.borrow() for _ in range(SIZE)]
    waiting = [asyncio.create_task(lender.borrow()) for _ in range(3)]
    await asyncio.sleep(0)
    waiting[0].cancel()
    lender.give_back(held[0])  # goes to waiting[1]
    waiting[1].cancel()  # in the very moment it came
    await asyncio.gather(*waiting[:2], return_exceptions=True)
    assert await asyncio.wait_for(waiting[2], 5) is held[0]
    for connection in held:
        lender.give_back(connection)


async def test_a_connection_that_broke_while_idle_is_replaced(lender: Pool) -> None:
    connection = await lender.borrow()
    number = await backend(connection)
    lender.give_back(connection)
    connection.terminate()
    again = await lender.borrow()
    assert await backend(again) != number
    lender.give_back(again)


async def test_a_dropped_connection_makes_room_for_who_waits(lender: Pool) -> None:
    held = [await lender.borrow() for _ in range(SIZE)]
    waiting = asyncio.create_task(lender.borrow())
    await asyncio.sleep(0)
    await lender.drop(held[0])
    lender.give_back(await asyncio.wait_for(waiting, 5))
    lender.give_back(held[1])


async def test_what_cannot_connect_does_not_count_as_lent() -> None:
    pool = await asyncpg.create_pool("postgresql://nobody@127.0.0.1:1/none", min_size=0, max_size=1)
    lender = Pool(pool)
    for _ in range(3):
        with pytest.raises(OSError):
            await asyncio.wait_for(lender.borrow(), 5)
    await asyncio.wait_for(lender.close(), 5)


async def test_close_waits_for_what_is_lent(servers: Services) -> None:
    lender = Pool(await asyncpg.create_pool(servers.database_url, min_size=0, max_size=SIZE))
    connection = await lender.borrow()
    closing = asyncio.create_task(lender.close())
    await asyncio.sleep(0)
    assert not closing.done()
    assert await connection.fetchval("SELECT 1") == 1
    lender.give_back(connection)
    await asyncio.wait_for(closing, 5)
