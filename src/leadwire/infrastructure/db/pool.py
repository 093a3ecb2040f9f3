"""The connection pool, and how a connection finds the primary among several hosts."""

import asyncio
import contextlib
import time
from typing import Any, Final
from urllib.parse import parse_qsl, urlencode, urlsplit

import asyncpg
from asyncpg.connect_utils import SessionAttribute

from leadwire.infrastructure.db.shares import Shares, workspace

_LEAVE_EVERY: Final = 1.0  # seconds
_HOST_TIMEOUT: Final = 5.0  # seconds that one of several hosts may take to connect
_IN_RECOVERY: Final = "SELECT pg_is_in_recovery()"
_NEXT_HOST: Final[tuple[type[BaseException], ...]] = (
    OSError, asyncpg.PostgresConnectionError, asyncpg.InternalClientError, asyncpg.OperatorInterventionError,
    asyncpg.TooManyConnectionsError,
)  # fmt: skip
_NO_ROLE: Final[tuple[type[BaseException], ...]] = (*_NEXT_HOST, asyncpg.PostgresError)


class Connection(asyncpg.Connection):
    """A pooled connection. It never holds session state, so the reset query (a round trip a query) is left out."""

    def get_reset_query(self) -> str:
        return ""


class Pool:
    """Connections for one event loop, last in, first out, on top of asyncpg's pool. What was acquired must be released
    or, after any error, dropped.

    asyncpg's own acquire and release go through a queue, a shield and a timer: 11 us of CPU for each use of a
    connection, 0.5 us here, where `SELECT 1` itself takes 13 us (`python -m ops.bench.pool`). A connection is taken
    from asyncpg's pool once and kept while it works; a released one goes straight to the task that is next (`Shares`).
    """

    patience = 5.0
    """Seconds that a server may take to end what an error has interrupted. Then its connection is closed."""

    def __init__(self, pool: asyncpg.Pool) -> None:
        self.pool = pool
        self._idle: list[Any] = []
        self._shares = Shares(pool.get_max_size())
        self._users = self._shares.users
        self._opened = 0
        self._held: set[Any] = set()  # taken from asyncpg's pool
        self._left: set[Any] = set()  # of these: in use when `leave` was called, to be closed when released
        self._left_at = float("-inf")

    async def acquire(self) -> Any:
        """Wait for a connection, open as far as is known, and return it. Raise Crowded, or what connecting raises."""
        asking = workspace.get()
        while True:
            if len(self._users) < self._shares.few or self._shares.allow(asking):
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

    async def close(self) -> None:
        """Wait until every connection is released, and close them all."""
        while self._opened:
            connection = self._idle.pop() if self._idle else await self._next("")
            if connection is not None:
                await self.drop(connection)
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
        self._users[place := object()] = asking
        try:
            connection = await self.pool.acquire()
        except BaseException:
            self._opened -= 1
            del self._users[place]
            self.release(None)
            raise
        del self._users[place]
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
            else:  # a connection came in the same moment
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
        if self._shares.waiting and self._shares.hand_on(connection):
            if self._idle:  # whose connection went to another workspace may have an idle one now
                self._shares.hand_on(None)
        elif connection is not None:
            self._idle.append(connection)


def _is_open(connection: Any) -> bool:
    try:
        return not connection.is_closed()
    except asyncpg.InterfaceError:  # it broke, and asyncpg's pool has taken it back already
        return False


class Hosts:
    """Connects to the one of several hosts that takes changes. The one found last is tried first.

    asyncpg tries hosts too, within one time limit for all: a host that is gone without a packet uses up all of it.
    """

    def __init__(self, url: str) -> None:
        self._urls = host_urls(url)

    async def connect(self, url: str, **options: Any) -> Any:
        """Return a connection. Raise ConnectionError, which says of each host why not, or what one refuses us for."""
        if len(self._urls) < 2:
            return await asyncpg.connect(url, **options)
        if "target_session_attrs=" not in url:
            options["target_session_attrs"] = "read-write"
        reasons: list[str] = []
        for name, one in self._urls.items():
            try:
                connection = await asyncpg.connect(one, timeout=_HOST_TIMEOUT, **options)
            except _NEXT_HOST as error:
                reasons.append(f"{name}: {_reason(error)}")
                continue
            self._urls = {name: one, **self._urls}
            return connection
        raise ConnectionError(f"none of the hosts takes changes ({'; '.join(reasons)})")

    async def roles(self) -> dict[str, str]:
        """What each of several hosts is, by its name: `primary`, `standby`, or why it cannot be told."""
        found: dict[str, str] = {}
        if len(self._urls) < 2:
            return found
        for name, one in self._urls.items():
            try:
                connection = await asyncpg.connect(
                    one, timeout=_HOST_TIMEOUT, target_session_attrs=SessionAttribute.any
                )
                found[name] = "standby" if await connection.fetchval(_IN_RECOVERY, timeout=_HOST_TIMEOUT) else "primary"
                await connection.close(timeout=_HOST_TIMEOUT)
            except _NO_ROLE as error:
                found[name] = _reason(error)
        return found


def host_urls(url: str) -> dict[str, str]:
    """Return a URL for each host that `url` names, by the host's name. What asyncpg cannot read is left to it."""
    parts = urlsplit(url)
    account, at, hosts = parts.netloc.rpartition("@")
    if hosts:
        return {host: parts._replace(netloc=f"{account}{at}{host}").geturl() for host in hosts.split(",")}
    query = dict(parse_qsl(parts.query))
    names, ports = query.get("host", "").split(","), query.get("port", "").split(",")
    if len(ports) == 1:
        ports *= len(names)
    if len(names) != len(ports):
        return {"": url}
    ours = url.partition("?")[0]
    return {
        f"{name}:{port}": f"{ours}?{urlencode(query | {'host': name, 'port': port})}"
        for name, port in zip(names, ports, strict=True)
    }


def _reason(error: BaseException) -> str:
    if isinstance(error, asyncpg.TargetServerAttributeNotMatched):
        return "a standby, or read-only"
    if isinstance(error, TimeoutError):
        return f"no answer within {_HOST_TIMEOUT:g} s"
    return str(error) or type(error).__name__
