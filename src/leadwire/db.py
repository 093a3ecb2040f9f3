"""PostgreSQL: one engine, one pool, one way to open a transaction.

Tables are declared and migrated by Piccolo; hot statements are SQL text through the same engine and pool, because
Piccolo's query builder costs more than the query. Nothing else in Leadwire knows asyncpg.
"""

import contextlib
from collections.abc import AsyncIterator, Callable
from contextvars import ContextVar
from types import TracebackType
from typing import Any

import asyncpg
import msgspec
from piccolo.engine.postgres import PostgresEngine, PostgresTransaction

Row = asyncpg.Record
UniqueViolation = asyncpg.UniqueViolationError

# What asyncpg raises when the server is away, going or coming back; InternalClientError is among them (seen on a
# killed server) although it is neither a PostgresError nor an InterfaceError.
GONE: tuple[type[BaseException], ...] = (
    OSError,
    TimeoutError,
    asyncpg.PostgresConnectionError,
    asyncpg.InterfaceError,
    asyncpg.InternalClientError,
    asyncpg.OperatorInterventionError,
    asyncpg.CannotConnectNowError,
    asyncpg.TooManyConnectionsError,
)


class _Connection(asyncpg.Connection):
    """A pooled connection. It never holds session state, so the reset query (a round trip a query) is left out."""

    def get_reset_query(self) -> str:
        return ""


class _Transaction(PostgresTransaction):
    """Piccolo's, but it gives its connection back also when BEGIN, COMMIT or ROLLBACK itself fails."""

    async def __aenter__(self) -> PostgresTransaction:
        if self._parent is not None:
            return self._parent
        self.connection = await self.get_connection()  # type: ignore[no-untyped-call]
        try:
            self.transaction = self.connection.transaction()
            await self.begin()  # type: ignore[no-untyped-call]
        except BaseException:
            await self._give_back()
            raise
        self.context = self.engine.current_transaction.set(self)
        return self

    async def __aexit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> bool:
        if self._parent:
            return False
        try:
            if self._committed or self._rolled_back:
                pass
            elif error is None:
                await self.commit()  # type: ignore[no-untyped-call]
            else:
                await self.rollback()  # type: ignore[no-untyped-call]
        finally:
            self.engine.current_transaction.reset(self.context)
            await self._give_back()
        return False

    async def _give_back(self) -> None:
        if self.engine.pool:
            await self.engine.pool.release(self.connection)
        else:
            await self.connection.close()


class Engine(PostgresEngine):
    """Piccolo's engine without its connection at import time, and with the plain-SQL calls of this module."""

    async def check_version(self) -> None:
        """Not at import; `open` refuses what is too old."""

    async def prep_database(self) -> None:
        """No extensions are used."""

    def transaction(self, allow_nested: bool = True) -> _Transaction:
        return _Transaction(self, allow_nested)


DB = Engine(config={})
_ONE_PLAN = {"plan_cache_mode": "force_generic_plan", "enable_seqscan": "off", "enable_sort": "off"}

_hooks: ContextVar[list[Callable[[], None]] | None] = ContextVar("after_commit_hooks", default=None)


def configure(url: str) -> None:
    """Say where the database is, without connecting."""
    DB.config = {
        "dsn": url,
        "connection_class": _Connection,
        "server_settings": {"timezone": "UTC", "jit": "off", "application_name": "leadwire"},
    }


async def open_pool(url: str, size: int, *, one_plan: bool = False) -> None:
    """Connect. Raises one of `GONE`, or asyncpg's error for a wrong database or user.

    `one_plan` lets each statement keep one plan: right for the API, whose statements have a text per set of filters
    and cost less than planning them; wrong for the relay, whose batches vary. A plan that is kept must not be one for
    a table that was small when it was made (today's partition at midnight): so it may neither read a whole table nor
    sort, which leaves the index that was made for the statement.
    """
    configure(url)
    if one_plan:
        DB.config["server_settings"] |= _ONE_PLAN
    await DB.start_connection_pool(
        min_size=min(size, 2),
        max_size=size,
        max_inactive_connection_lifetime=0,
        max_queries=10**9,
        statement_cache_size=256,
        init=_json_as_text,
    )


async def close_pool() -> None:
    """Give every connection back; safe to call when there is no pool."""
    if DB.pool:
        await DB.close_connection_pool()


async def rows(sql: str, *args: Any) -> list[Row]:
    """Run one statement, in the open transaction if there is one, and answer its rows."""
    if (transaction := DB.current_transaction.get()) is not None:
        return await transaction.connection.fetch(sql, *args)  # type: ignore[no-any-return]
    async with DB.pool.acquire() as connection:  # type: ignore[union-attr]
        return await connection.fetch(sql, *args)


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


def in_transaction() -> bool:
    """Whether a transaction is open here."""
    return DB.current_transaction.get() is not None


def after_commit(hook: Callable[[], None]) -> None:
    """Call `hook` once when the open transaction has committed; at once when there is none."""
    hooks = _hooks.get()
    if hooks is None:
        hook()
    else:
        hooks.append(hook)


async def _json_as_text(connection: asyncpg.Connection) -> None:
    """JSON columns travel as text and are never parsed on the way: they come back as `msgspec.Raw`."""
    await connection.set_type_codec(
        "json",
        schema="pg_catalog",
        format="binary",
        encoder=lambda text: text.encode() if isinstance(text, str) else bytes(text),
        decoder=msgspec.Raw,
    )
