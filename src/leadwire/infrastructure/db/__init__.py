"""PostgreSQL: one engine, one pool, one way to open a transaction.

Tables are declared and migrated by Piccolo; hot statements are SQL text through the same engine and pool, because
Piccolo's query builder costs more than the query. Nothing else in Leadwire knows asyncpg.
"""

import contextlib
from collections.abc import AsyncIterator, Awaitable, Callable
from contextvars import ContextVar
from typing import Any

import asyncpg
import msgspec

from leadwire.infrastructure.db.engine import Connection, Engine
from leadwire.infrastructure.db.engine import Role as Role
from leadwire.infrastructure.db.engine import acting_as as acting_as
from leadwire.infrastructure.db.keepalive import keep_alive

Row = asyncpg.Record
UniqueViolation = asyncpg.UniqueViolationError
Deadlock = asyncpg.DeadlockDetectedError
Cancelled = asyncpg.QueryCanceledError
"""A statement ran for longer than it may. The server is there: this is none of `GONE`."""
Orphaned = asyncpg.ForeignKeyViolationError
"""What a row refers to is not there, or not any more."""
UNSTORABLE: tuple[type[BaseException], ...] = (asyncpg.DataError, asyncpg.IntegrityConstraintViolationError, ValueError)
"""What the values themselves are to blame for: no use to try again."""

# What asyncpg raises when the server is away, going or coming back; InternalClientError is among them (seen on a
# killed server) although it is neither a PostgresError nor an InterfaceError.
GONE: tuple[type[BaseException], ...] = (
    OSError,
    TimeoutError,
    asyncpg.PostgresConnectionError,
    asyncpg.InterfaceError,
    asyncpg.InternalClientError,
    asyncpg.AdminShutdownError,
    asyncpg.CrashShutdownError,
    asyncpg.DatabaseDroppedError,
    asyncpg.IdleSessionTimeoutError,
    asyncpg.CannotConnectNowError,
    asyncpg.TooManyConnectionsError,
)


DB = Engine(config={})
_ONE_PLAN = {
    "plan_cache_mode": "force_generic_plan",
    "enable_seqscan": "off",
    "enable_sort": "off",
    "max_parallel_workers_per_gather": "0",  # 4 to 7 ms to start them for a count of 100 rows that takes 0.1 ms
}

_hooks: ContextVar[list[Callable[[], None]] | None] = ContextVar("after_commit_hooks", default=None)


def configure(url: str) -> None:
    """Say where the database is, without connecting."""
    DB.config = {
        "dsn": url,
        "connection_class": Connection,
        "server_settings": {"timezone": "UTC", "jit": "off", "application_name": "leadwire"},
    }


async def open_pool(url: str, size: int, *, one_plan: bool = False, role: Role = "maintenance") -> None:
    """Connect. Raises one of `GONE`, or asyncpg's error for a wrong database or user.

    `role` says how long a statement may take, where `acting_as` says nothing else.

    `one_plan` lets each statement keep one plan: right for the API, whose statements have a text per set of filters
    and cost less than planning them; wrong for the relay, whose batches vary. A plan that is kept must not be one for
    a table that was small when it was made (today's partition at midnight): so it may neither read a whole table nor
    sort, which leaves the index that was made for the statement.
    """
    configure(url)
    DB.role = role
    if one_plan:
        DB.config["server_settings"] |= _ONE_PLAN
    await DB.start_connection_pool(
        min_size=min(size, 2),
        max_size=size,
        max_inactive_connection_lifetime=0,
        max_queries=10**9,
        statement_cache_size=256,
        init=_prepare,
    )


async def close_pool() -> None:
    """Give every connection back; safe to call when there is no pool."""
    if DB.pool:
        await DB.close_connection_pool()


def pool_use() -> dict[str, int]:
    """How many connections are `used`, `idle`, `awaited`, and their `limit`; nothing when there is no pool."""
    return DB.connections.use() if DB.connections else {}


async def rows(sql: str, *args: Any) -> list[Row]:
    """Run one statement, in the open transaction if there is one, and answer its rows."""
    return await DB.fetch(sql, args)


async def row(sql: str, *args: Any) -> Row | None:
    """The first row, or None."""
    found = await rows(sql, *args)
    return found[0] if found else None


async def value(sql: str, *args: Any) -> Any:
    """The first column of the first row, or None."""
    found = await rows(sql, *args)
    return found[0][0] if found else None


@contextlib.asynccontextmanager
async def transaction() -> AsyncIterator[None]:
    """All or nothing. An inner one joins the outer: never catch an error of a change inside another."""
    if DB.current_transaction.get() is not None:
        yield
        return
    hooks: list[Callable[[], None]] = []
    token = _hooks.set(hooks)
    try:
        async with DB.transaction():
            yield
    finally:
        _hooks.reset(token)
    for hook in dict.fromkeys(hooks):
        hook()


async def savepoint() -> Callable[[], Awaitable[None]]:
    """Mark this point of the open transaction. Return what goes back to it, also after a statement has failed."""
    transaction, hooks = DB.current_transaction.get(), _hooks.get()
    assert transaction is not None, "no transaction is open"  # noqa: S101 - a fault of ours, not of anybody's input
    assert hooks is not None, "no transaction is open"  # noqa: S101
    mark, known = await transaction.savepoint(), len(hooks)

    async def go_back() -> None:
        await transaction.rollback_to(mark.name)
        del hooks[known:]

    return go_back


def in_transaction() -> bool:
    """Whether a transaction is open here."""
    return DB.current_transaction.get() is not None


async def through_pooler() -> bool:
    """Whether a pooler such as PgBouncer stands between us and the server: it gives out process ids of its own."""
    async with transaction():
        connection = DB.current_transaction.get().connection  # type: ignore[union-attr]
        return bool(connection.get_server_pid() != await value("SELECT pg_backend_pid()"))


def after_commit(hook: Callable[[], None]) -> None:
    """Call `hook` once when the open transaction has committed; at once when there is none."""
    hooks = _hooks.get()
    if hooks is None:
        hook()
    else:
        hooks.append(hook)


async def _prepare(connection: asyncpg.Connection) -> None:
    keep_alive(connection)
    await _json_as_text(connection)


async def _json_as_text(connection: asyncpg.Connection) -> None:
    """JSON columns travel as text and are never parsed on the way: they come back as `msgspec.Raw`."""
    await connection.set_type_codec(
        "json",
        schema="pg_catalog",
        format="binary",
        encoder=lambda text: text.encode() if isinstance(text, str) else bytes(text),
        decoder=msgspec.Raw,
    )
