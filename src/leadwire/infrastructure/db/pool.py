"""Lends out the connections of a pool, last in, first out.

asyncpg's own acquire and release go through a queue, a shield and a timer; here a connection is taken from the pool
once and kept while it is sound, and whoever waits gets it from the hand that is done with it.
"""

import asyncio
from collections import deque
from typing import Any

import asyncpg


class Pool:
    """Of one pool, in one event loop. Whoever borrows must `give_back` or, after any error, `drop`."""

    def __init__(self, pool: asyncpg.Pool) -> None:
        self.pool = pool
        self._idle: list[Any] = []
        self._waiting: deque[asyncio.Future[Any]] = deque()
        self._taken = 0

    async def borrow(self) -> Any:
        """A connection that is open as far as is known. Waits while all are lent; raises what connecting raises."""
        while True:
            while self._idle:
                connection = self._idle.pop()
                if _open(connection):
                    return connection
                await self.drop(connection)
            if self._taken < self.pool.get_max_size():
                return await self._take()
            if (connection := await self._next()) is not None:
                return connection

    def give_back(self, connection: Any) -> None:
        """It is sound and does nothing any more."""
        self._hand_on(connection)

    async def drop(self, connection: Any) -> None:
        """Give it to the pool, which waits for a cancelled statement and replaces what is broken."""
        try:
            await self.pool.release(connection)
        finally:
            self._taken -= 1
            self._hand_on(None)

    async def close(self) -> None:
        """Give them all to the pool, those that are lent when they come back, and close it."""
        while self._taken:
            connection = self._idle.pop() if self._idle else await self._next()
            if connection is not None:
                await self.drop(connection)
        await self.pool.close()

    def use(self) -> dict[str, int]:
        """How many connections are `used`, `idle` and `awaited`, and the most there may be (`limit`)."""
        return {
            "used": self._taken - len(self._idle),
            "idle": len(self._idle),
            "awaited": sum(not waiter.done() for waiter in self._waiting),
            "limit": self.pool.get_max_size(),
        }

    async def _take(self) -> Any:
        self._taken += 1
        try:
            return await self.pool.acquire()
        except BaseException:
            self._taken -= 1
            self._hand_on(None)
            raise

    async def _next(self) -> Any:
        """What somebody hands on: a connection, or None when there is room for another."""
        waiter = asyncio.get_running_loop().create_future()
        self._waiting.append(waiter)
        try:
            return await waiter
        except asyncio.CancelledError:
            if waiter.done() and not waiter.cancelled():  # it came in the same moment
                self._hand_on(waiter.result())
            raise

    def _hand_on(self, connection: Any) -> None:
        """To the one who has waited longest; None tells that one to try again."""
        while self._waiting:
            waiter = self._waiting.popleft()
            if not waiter.done():
                waiter.set_result(connection)
                return
        if connection is not None:
            self._idle.append(connection)


def _open(connection: Any) -> bool:
    try:
        return not connection.is_closed()
    except asyncpg.InterfaceError:  # it broke, and the pool has taken it back already
        return False
