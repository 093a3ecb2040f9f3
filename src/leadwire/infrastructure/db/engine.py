"""Piccolo's engine, changed: no connection at import, our own pool, transactions that always release theirs."""

import asyncio
import contextlib
import re
import time
from collections import Counter, deque
from collections.abc import AsyncIterator, Callable, Iterator, Mapping, Sequence
from contextvars import ContextVar
from typing import Any, Final, Literal

import asyncpg
from piccolo.engine.postgres import PostgresEngine
from piccolo.querystring import QueryString

from leadwire.infrastructure.db.hosts import Hosts
from leadwire.infrastructure.db.pool import Pool
from leadwire.infrastructure.db.shares import workspace

Role = Literal["api", "pages", "engine", "jobs", "maintenance"]

LIMITS: Final[Mapping[Role, float | None]] = {
    "api": 5.0, "pages": 20.0, "engine": 120.0, "jobs": 120.0, "maintenance": None,
}  # fmt: skip
"""The seconds that one statement may take. The engine's are fewer than make the relay's liveness fail; maintenance is
what an operator runs, migrations, and the care of partitions: it takes as long as it takes."""

# InternalClientError was seen when a server was killed, although it is neither a PostgresError nor an InterfaceError.
GONE: Final[tuple[type[BaseException], ...]] = (
    OSError, TimeoutError, asyncpg.PostgresConnectionError, asyncpg.InterfaceError, asyncpg.InternalClientError,
    asyncpg.AdminShutdownError, asyncpg.CrashShutdownError, asyncpg.DatabaseDroppedError,
    asyncpg.IdleSessionTimeoutError, asyncpg.IdleInTransactionSessionTimeoutError,
    asyncpg.CannotConnectNowError, asyncpg.TooManyConnectionsError,
)  # fmt: skip
"""The server is unavailable, stopping or starting."""
_UNANSWERED: Final[tuple[type[BaseException], ...]] = (*GONE, asyncpg.QueryCanceledError)
_WRITE: Final = re.compile(r"\b(?:INSERT|UPDATE|DELETE)\b")
REFUSING: Final[tuple[type[BaseException], ...]] = (
    asyncpg.InsufficientResourcesError, asyncpg.PostgresIOError, asyncpg.ReadOnlySQLTransactionError,
)  # fmt: skip
"""The server is there and cannot write: its disk or memory is full, or it is a standby. Trying again may help later."""
UNPREPARED: Final[tuple[type[BaseException], ...]] = (
    asyncpg.InsufficientPrivilegeError, asyncpg.UndefinedTableError, asyncpg.UndefinedColumnError,
    asyncpg.UndefinedFunctionError,
)  # fmt: skip
"""The database lacks a migration, or rights for our role: the operator has to look."""
_REFUSALS: Final = 1000  # that are remembered


class OutcomeUnknown(ConnectionError):
    """A change was sent, and the server did not answer: it may or may not have been made. One of `GONE`."""


_role: ContextVar[Role | None] = ContextVar("role", default=None)


@contextlib.contextmanager
def acting_as(role: Role) -> Iterator[None]:
    """Statements inside the block have this role's limit, and are nobody's until `workspace` is set. Elsewhere that of
    the process holds.
    """
    token, before = _role.set(role), workspace.set("")
    try:
        yield
    finally:
        _role.reset(token)
        workspace.reset(before)


class Opened:
    """A transaction that is open: where its statements run, and what is called once it has committed."""

    def __init__(self, connection: Any) -> None:
        self.connection = connection
        self.hooks: list[Callable[[], None]] = []
        self.savepoints = 0


class Engine(PostgresEngine):
    """Runs every statement on a connection of `connections`, which is set while the pool is open, as `hosts` is."""

    connections: Pool | None = None
    hosts: Hosts | None = None
    current_transaction: ContextVar[Any]  # an `Opened`, or `other.Other`
    role: Role = "maintenance"
    """This process's."""
    watching: "asyncio.Task[None] | None" = None

    def __init__(self, config: dict[str, Any]) -> None:
        super().__init__(config)
        self._refusals = deque[tuple[float, str]](maxlen=_REFUSALS)  # when, and why

    async def check_version(self) -> None:
        """Not at import; the command line refuses what is too old."""

    async def get_new_connection(self) -> Any:
        """Return a connection of the caller's own, to the host that the pool's are to. Raise what connecting raises."""
        if self.hosts is None:  # Piccolo's own command line
            return await super().get_new_connection()
        options = dict(self.config)
        return await self.hosts.connect(options.pop("dsn"), **options)

    @contextlib.asynccontextmanager
    async def transaction(self) -> AsyncIterator[None]:  # type: ignore[override]
        """Begin one, and commit it at the end of the block. Raise OutcomeUnknown when the server does not answer that.

        Its connection is released also when BEGIN, COMMIT or ROLLBACK itself fails, which Piccolo's does not.
        """
        connections = self.connections
        assert connections is not None, "the pool is not open"  # noqa: S101 - a programming error
        connection = await connections.acquire()
        try:
            transaction = connection.transaction()
            await transaction.start()
            opened = Opened(connection)
            token = self.current_transaction.set(opened)
            try:
                yield
            except BaseException:
                with contextlib.suppress(TimeoutError):  # no longer than for a canceled statement
                    async with asyncio.timeout(Pool.patience):
                        await transaction.rollback()
                raise
            else:
                await _commit(transaction)
            finally:
                self.current_transaction.reset(token)
        except BaseException:
            await connections.drop(connection)
            raise
        connections.release(connection)
        for hook in dict.fromkeys(opened.hooks):
            hook()

    async def fetch(self, sql: str, args: Sequence[Any]) -> list[asyncpg.Record]:
        """Run one statement, in the open transaction if there is one. Raises QueryCanceledError after the limit."""
        if (transaction := self.current_transaction.get()) is not None:
            return await self._limited(transaction.connection, sql, args)
        connections = self.connections
        assert connections is not None, "the pool is not open"  # noqa: S101
        connection = await connections.acquire()
        try:
            rows = await self._limited(connection, sql, args)
        except BaseException as error:
            await connections.drop(connection)
            if isinstance(error, _UNANSWERED) and _WRITE.search(sql):
                raise OutcomeUnknown(str(error) or type(error).__name__) from error
            raise
        connections.release(connection)
        return rows

    async def _limited(self, connection: Any, sql: str, args: Sequence[Any]) -> list[asyncpg.Record]:
        """asyncpg cancels the statement on the server. Not `statement_timeout`: a pooler would not keep it for us, and
        a connection serves pages and the API in turn.
        """
        limit = LIMITS[_role.get() or self.role]
        try:
            return await connection.fetch(sql, *args, timeout=limit)  # type: ignore[no-any-return]
        except TimeoutError as error:
            if _WRITE.search(sql):
                self._refusals.append((time.monotonic(), asyncpg.QueryCanceledError.__name__))
            raise asyncpg.QueryCanceledError(f"canceled: it ran for longer than {limit:g} s") from error
        except (*REFUSING, *UNPREPARED) as error:
            if isinstance(error, REFUSING) or _WRITE.search(sql):
                self._refusals.append((time.monotonic(), type(error).__name__))
            if isinstance(error, asyncpg.ReadOnlySQLTransactionError) and self.connections:
                await self.connections.leave()
            raise

    def refused(self, seconds: float) -> Counter[str]:
        """How often the server has refused to write within the last seconds, by the name of the error. A change that
        was canceled at its limit counts, too: it may have waited for a lock.
        """
        since = time.monotonic() - seconds
        return Counter(why for at, why in self._refusals if at > since)

    async def run_querystring(self, querystring: QueryString, in_pool: bool = True) -> list[asyncpg.Record]:
        if self.connections is None:  # Piccolo's own command line
            return await super().run_querystring(querystring, in_pool)  # type: ignore[no-any-return]
        return await self.fetch(*querystring.compile_string(engine_type=self.engine_type))

    async def _run_in_pool(self, query: str, args: Sequence[Any] | None = None) -> list[asyncpg.Record]:
        return await self.fetch(query, args or ())


async def _commit(transaction: Any) -> None:
    """No limit but `hosts.watch`: it may wait for a synchronous standby."""
    try:
        await transaction.commit()
    except _UNANSWERED as error:
        raise OutcomeUnknown(str(error) or type(error).__name__) from error
