"""The connection pool."""

import asyncio
import contextlib
import time
from typing import Any, Final

import asyncpg

from leadwire.infrastructure.db.shares import Shares, workspace

_LEAVE_EVERY: Final = 1.0  # seconds


class Connection(asyncpg.Connection):
    """A pooled connection. It never holds session state; asyncpg resets it only after an error (`Pool.drop`)."""

    def get_reset_query(self) -> str:
        """Any: it ends what asyncpg has begun with a value that it then cannot send, which keeps the tables locked."""
        return "SELECT 1"


class Pool:
    """Connections for one event loop, last in, first out, on top of asyncpg's pool. What was acquired must be released
    or, after any error, dropped.

    asyncpg's own acquire and release go through a queue, a shield and a timer: 11 us of CPU for each use of a
    connection, 0.7 us here, where `SELECT 1` itself takes 13 us (`python -m ops.bench.pool`). A connection is taken
    from asyncpg's pool once and kept while it works; a released one goes straight to the task that is next (`Shares`).
    """

    patience = 5.0
    """Seconds that a server may take to end what an error has interrupted. Then its connection is closed."""

    def __init__(self, pool: asyncpg.Pool) -> None:
        self.pool = pool
        self.finished = 0
        """How often a connection was released that works: whether the server does anything."""
        self._idle: list[Any] = []
        self._shares = Shares(pool.get_max_size())
        self._users, self._few, self._waiting = self._shares.users, self._shares.few, self._shares.waiting
        self._opened = 0
        self._held: set[Any] = set()  # taken from asyncpg's pool
        self._left: set[Any] = set()  # of these: in use when `leave` was called, to be closed when released
        self._left_at = float("-inf")

    async def acquire(self) -> Any:
        """Wait for a connection, open as far as is known, and return it. Raise Crowded, or what connecting raises."""
        asking = workspace.get()
        while True:
            if len(self._users) < self._few or self._shares.allow(asking):
                while self._idle:
                    connection = self._idle.pop()
                    if _is_open(connection):
                        self._users[connection] = asking
                        return connection
                    await self.drop(connection)
                if self._opened < self.pool.get_max_size():
                    return await self._open(asking)
            if (connection := await self._next(asking)) is not None:
                return connection

    async def drop(self, connection: Any) -> None:
        """Return a connection to asyncpg's pool, which waits for a canceled statement and replaces what is broken."""
        self._forget(connection)
        try:
            with contextlib.suppress(TimeoutError):  # asyncpg has closed it
                await self.pool.release(connection, timeout=self.patience)
        finally:
            self._opened -= 1
            self._users.pop(connection, None)
            self.release(None)

    async def leave(self) -> None:
        """Close every connection, and those in use once they are released: their server has refused a change.

        A primary that became a standby may keep its connections. Those opened next are to the primary, where one is
        found. At most once a second, for where none is.
        """
        now = time.monotonic()
        if now - self._left_at < _LEAVE_EVERY:
            return
        self._left_at = now
        await self.pool.expire_connections()
        for connection in self._idle:
            connection.terminate()  # `acquire` drops it
        self._left = self._held.difference(self._idle)

    async def abandon(self) -> None:
        """Close every connection now: their server is frozen. What waits for it raises one of `GONE`."""
        await self.pool.expire_connections()  # those that it keeps itself
        for connection in tuple(self._held):
            connection.terminate()  # its user drops it; an idle one is dropped by `acquire`

    async def close(self) -> None:
        """Wait until every connection is released, and close them all."""
        while self._opened:
            connection = self._idle.pop() if self._idle else await self._next("")
            if connection is not None:
                await self.drop(connection)
        with contextlib.suppress(TimeoutError):  # asyncpg has closed them without a word to the server
            async with asyncio.timeout(self.patience):
                await self.pool.close()

    def use(self) -> dict[str, int]:
        """How many connections are `used`, `idle` and `awaited`, and the most there may be (`limit`).

        `held_back` are those of `awaited` that wait because their workspace has its share.
        """
        awaited, held_back = self._shares.counts()
        return {
            "used": self._opened - len(self._idle),
            "idle": len(self._idle),
            "awaited": awaited,
            "held_back": held_back,
            "limit": self.pool.get_max_size(),
        }

    async def _open(self, asking: str) -> Any:
        self._opened += 1
        self._users[slot := object()] = asking
        try:
            connection = await self.pool.acquire()
        except BaseException as error:
            self._opened -= 1
            del self._users[slot]
            if isinstance(error, OSError) and not self._held:  # the others would fail as well, one after the other
                self._shares.refuse(error)
            self.release(None)
            raise
        del self._users[slot]
        self._users[connection] = asking
        self._held.add(connection)
        return connection

    def _forget(self, connection: Any) -> None:
        self._held.discard(connection)
        self._left.discard(connection)

    async def _next(self, asking: str) -> Any:
        """Wait for a released connection, or None when another one may be opened."""
        waiter = self._shares.wait(asking)
        try:
            return await waiter
        except asyncio.CancelledError:
            if waiter.cancelled():
                self._shares.remove(asking, waiter)
            elif not waiter.exception():  # a connection came in the same moment
                self.release(waiter.result())
            raise

    def release(self, connection: Any) -> None:
        """Give a connection that works and is idle to the task that is next, if there is one.

        None tells that task to try again, as one more connection may be opened.
        """
        self._users.pop(connection, None)
        if self._left and connection in self._left:
            self._forget(connection)
            connection.terminate()
            self._opened -= 1
            connection = None
        elif connection is not None:
            self.finished += 1
        if self._waiting and self._shares.hand_on(connection):
            if self._idle:  # whose connection went to another workspace may have an idle one now
                self._shares.hand_on(None)
        elif connection is not None:
            self._idle.append(connection)


def _is_open(connection: Any) -> bool:
    try:
        return not connection.is_closed()
    except asyncpg.InterfaceError:  # it broke, and asyncpg's pool has taken it back already
        return False
