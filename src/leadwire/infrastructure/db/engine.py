"""Piccolo's engine, changed: no connection at import, our own pool, transactions that always release theirs."""

import asyncio
import contextlib
import time
from collections import deque
from collections.abc import Iterator, Mapping, Sequence
from contextvars import ContextVar
from types import TracebackType
from typing import Any, Final, Literal

import asyncpg
from piccolo.engine.postgres import PostgresEngine, PostgresTransaction

Role = Literal["api", "pages", "engine", "maintenance"]

LIMITS: Final[Mapping[Role, float | None]] = {"api": 5.0, "pages": 20.0, "engine": 120.0, "maintenance": None}
"""The seconds that one statement may take. The engine's are fewer than make the relay's liveness fail; maintenance is
what an operator runs, migrations, and the care of partitions: it takes as long as it takes."""

REFUSING: Final[tuple[type[BaseException], ...]] = (
    asyncpg.InsufficientResourcesError,
    asyncpg.PostgresIOError,
    asyncpg.ReadOnlySQLTransactionError,
)
_REFUSED_FOR: Final = 15.0  # seconds; who has work tries again sooner

_role: ContextVar[Role | None] = ContextVar("role", default=None)


@contextlib.contextmanager
def acting_as(role: Role) -> Iterator[None]:
    """Statements inside the block have this role's limit. The process's own role holds everywhere else."""
    token = _role.set(role)
    try:
        yield
    finally:
        _role.reset(token)


class Connection(asyncpg.Connection):
    """A pooled connection. It never holds session state, so the reset query (a round trip a query) is left out."""

    def get_reset_query(self) -> str:
        return ""


class Pool:
    """Connections for one event loop, last in, first out, on top of asyncpg's pool. What was acquired must be released
    or, after any error, dropped.

    asyncpg's own acquire and release go through a queue, a shield and a timer: 11 us of CPU for each use of a
    connection, 0.5 us here, where `SELECT 1` itself takes 13 us (`python -m ops.bench.pool`). A connection is taken
    from asyncpg's pool once and kept while it works; a released one goes straight to the task that has waited longest.
    """

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


class Engine(PostgresEngine):
    """Runs every statement on a connection of `connections`, which is set while the pool is open."""

    connections: Pool | None = None
    role: Role = "maintenance"
    """This process's."""
    _refused: tuple[float, str] = (float("-inf"), "")  # when, and why

    async def check_version(self) -> None:
        """Not at import; the command line refuses what is too old."""

    async def prep_database(self) -> None:
        """No extensions are used."""

    async def start_connection_pool(self, **options: Any) -> None:
        await super().start_connection_pool(**options)
        self.connections = Pool(self.pool)  # type: ignore[arg-type]

    async def close_connection_pool(self) -> None:
        if self.connections:
            connections, self.connections, self.pool = self.connections, None, None
            await connections.close()

    def transaction(self, allow_nested: bool = True) -> "Transaction":
        return Transaction(self, allow_nested)

    async def fetch(self, sql: str, args: Sequence[Any]) -> list[asyncpg.Record]:
        """Run one statement, in the open transaction if there is one. Raises QueryCanceledError after the limit."""
        if (transaction := self.current_transaction.get()) is not None:
            return await self._limited(transaction.connection, sql, args)
        connections = self.connections
        assert connections is not None, "the pool is not open"  # noqa: S101 - a programming error
        connection = await connections.acquire()
        try:
            found = await self._limited(connection, sql, args)
        except BaseException:
            await connections.drop(connection)
            raise
        connections.release(connection)
        return found

    async def _limited(self, connection: Any, sql: str, args: Sequence[Any]) -> list[asyncpg.Record]:
        """asyncpg cancels the statement on the server. Not `statement_timeout`: a pooler would not keep it for us, and
        a connection serves pages and the API in turn.
        """
        limit = LIMITS[_role.get() or self.role]
        try:
            return await connection.fetch(sql, *args, timeout=limit)  # type: ignore[no-any-return]
        except TimeoutError as error:
            raise asyncpg.QueryCanceledError(f"canceled: it ran for longer than {limit:g} s") from error
        except REFUSING as error:
            self._refused = time.monotonic(), type(error).__name__
            raise

    def refused(self) -> str | None:
        """Why the server has refused to write within the last seconds, or None."""
        at, why = self._refused
        return why if time.monotonic() - at < _REFUSED_FOR else None

    async def _run_in_pool(self, query: str, args: Sequence[Any] | None = None) -> list[asyncpg.Record]:
        return await self.fetch(query, args or ())


class Transaction(PostgresTransaction):
    """Releases its connection also when BEGIN, COMMIT or ROLLBACK itself fails, which Piccolo's does not."""

    engine: Engine

    async def __aenter__(self) -> PostgresTransaction:
        if self._parent is not None:
            return self._parent
        connections = self.engine.connections
        if connections is None:  # Piccolo's own command line: a connection for this transaction alone
            return await super().__aenter__()
        self.connection = await connections.acquire()
        try:
            self.transaction = self.connection.transaction()
            await self.begin()  # type: ignore[no-untyped-call]
        except BaseException:
            await connections.drop(self.connection)
            raise
        self.context = self.engine.current_transaction.set(self)
        return self

    async def __aexit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> bool:
        if self._parent:
            return False
        connections = self.engine.connections
        succeeded = False
        try:
            if not (self._committed or self._rolled_back):
                await (self.commit if error is None else self.rollback)()  # type: ignore[no-untyped-call]
            succeeded = error is None
        finally:
            self.engine.current_transaction.reset(self.context)
            if connections is None:  # closed meanwhile
                await self.connection.close()
            elif succeeded:
                connections.release(self.connection)
            else:
                await connections.drop(self.connection)
        return False
