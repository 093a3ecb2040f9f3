"""A pool of connections, last in, first out, on top of asyncpg's.

asyncpg's own acquire and release go through a queue, a shield and a timer: 11 us of CPU for each use of a connection,
0.5 us here, where `SELECT 1` itself takes 13 us (`python -m ops.bench.pool`). A connection is taken from asyncpg's
pool once and kept while it works; a released one goes straight to the task that has waited longest.
"""

import asyncio
from collections import deque
from typing import Any

import asyncpg


class Pool:
    """For one event loop. What was acquired must be released or, after any error, dropped."""

    def __init__(self, pool: asyncpg.Pool) -> None:
        self.pool = pool
        self._idle: list[Any] = []
        self._waiting: deque[asyncio.Future[Any]] = deque()
        self._opened = 0

    async def acquire(self) -> Any:
        """Return a connection that is open as far as is known. Wait for one; raise what connecting raises."""
        while True:
            while self._idle:
                connection = self._idle.pop()
                if _is_open(connection):
                    return connection
                await self.drop(connection)
            if self._opened < self.pool.get_max_size():
                return await self._open()
            if (connection := await self._next()) is not None:
                return connection

    async def drop(self, connection: Any) -> None:
        """Return a connection to asyncpg's pool, which waits for a canceled statement and replaces what is broken."""
        try:
            await self.pool.release(connection)
        finally:
            self._opened -= 1
            self.release(None)

    async def close(self) -> None:
        """Wait until every connection is released, and close them all."""
        while self._opened:
            connection = self._idle.pop() if self._idle else await self._next()
            if connection is not None:
                await self.drop(connection)
        await self.pool.close()

    def use(self) -> dict[str, int]:
        """How many connections are `used`, `idle` and `awaited`, and the most there may be (`limit`)."""
        return {
            "used": self._opened - len(self._idle),
            "idle": len(self._idle),
            "awaited": sum(not waiter.done() for waiter in self._waiting),
            "limit": self.pool.get_max_size(),
        }

    async def _open(self) -> Any:
        self._opened += 1
        try:
            return await self.pool.acquire()
        except BaseException:
            self._opened -= 1
            self.release(None)
            raise

    async def _next(self) -> Any:
        """Wait for a released connection, or None when another one may be opened."""
        waiter = asyncio.get_running_loop().create_future()
        self._waiting.append(waiter)
        try:
            return await waiter
        except asyncio.CancelledError:
            if waiter.done() and not waiter.cancelled():  # a connection came in the same moment
                self.release(waiter.result())
            raise

    def release(self, connection: Any) -> None:
        """Give a connection that works and is idle to the task that has waited longest, if there is one.

        None tells that task to try again, as one more connection may be opened.
        """
        while self._waiting:
            waiter = self._waiting.popleft()
            if not waiter.done():
                waiter.set_result(connection)
                return
        if connection is not None:
            self._idle.append(connection)


def _is_open(connection: Any) -> bool:
    try:
        return not connection.is_closed()
    except asyncpg.InterfaceError:  # it broke, and asyncpg's pool has taken it back already
        return False
