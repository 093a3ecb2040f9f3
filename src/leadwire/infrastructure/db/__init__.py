"""PostgreSQL: one engine, one pool, one way to open a transaction. Nothing else in Leadwire knows asyncpg.

Tables are declared and migrated by Piccolo. Statements are in `statements.py`.
"""

import asyncio
import contextlib
import socket
from collections.abc import Awaitable, Callable
from typing import Any, Final

import asyncpg
import msgspec

from leadwire.infrastructure.db.engine import GONE as GONE
from leadwire.infrastructure.db.engine import REFUSING as REFUSING
from leadwire.infrastructure.db.engine import UNPREPARED as UNPREPARED
from leadwire.infrastructure.db.engine import Engine, Opened
from leadwire.infrastructure.db.engine import OutcomeUnknown as OutcomeUnknown
from leadwire.infrastructure.db.engine import Role as Role
from leadwire.infrastructure.db.engine import acting_as as acting_as
from leadwire.infrastructure.db.hosts import Hosts, watch
from leadwire.infrastructure.db.pool import Connection, Pool
from leadwire.infrastructure.db.shares import Crowded as Crowded
from leadwire.infrastructure.db.shares import workspace as workspace

Row = asyncpg.Record
UniqueViolation = asyncpg.UniqueViolationError
Deadlock = asyncpg.DeadlockDetectedError
Locked = asyncpg.LockNotAvailableError
"""A lock was not granted in time, where a transaction has set `lock_timeout`."""
NoTable = asyncpg.UndefinedTableError
Canceled = asyncpg.QueryCanceledError
"""A statement ran for longer than its limit. The server is available: this is not one of `GONE`."""
Moving = asyncpg.RestrictViolationError
"""The workspace of a row is being moved to another installation."""
Orphaned = asyncpg.ForeignKeyViolationError
"""A row refers to another row that does not exist, or no longer exists."""
WITHHELD: tuple[type[BaseException], ...] = (
    asyncpg.FeatureNotSupportedError, asyncpg.InsufficientPrivilegeError,
    asyncpg.ObjectNotInPrerequisiteStateError, asyncpg.ReadOnlySQLTransactionError,
)  # fmt: skip
"""The server does not do that for us, or not as it is: it is a standby, or a provider's."""
UNSTORABLE: tuple[type[BaseException], ...] = (asyncpg.DataError, asyncpg.IntegrityConstraintViolationError, ValueError)
"""The values themselves are the cause: trying again does not help."""

TRANSIENT: tuple[type[BaseException], ...] = (
    *GONE, *REFUSING, *UNPREPARED, Crowded, asyncpg.TransactionRollbackError,
    asyncpg.InvalidAuthorizationSpecificationError, asyncpg.InvalidCatalogNameError,
)  # fmt: skip
"""The server's state is the cause, not the values: the same statement succeeds later. A deadlock is among them."""


DB = Engine(config={})

# Each statement is planned once for each connection, for average values: planning a list or a claim costs more than
# running it. PostgreSQL plans again when the statistics of a table change, as a table that was small grows.
_PROCESS: Final = {
    "idle_in_transaction_session_timeout": "5s",  # a process that is suspended amid a transaction holds its row locks
    "plan_cache_mode": "force_generic_plan",
    "max_parallel_workers_per_gather": "0",  # 4 to 7 ms to start them for a count of 100 rows that takes 0.1 ms
}
_JOBS: Final = {"lock_timeout": "2s"}  # a row that somebody holds is tried again later, and keeps no other job waiting
_INDEXES_ONLY: Final = {"enable_seqscan": "off", "enable_hashjoin": "off", "enable_mergejoin": "off"}

# Seconds before the first probe, seconds between probes, probes; and the same 25 s for what was sent.
_TCP: Final = {"TCP_KEEPIDLE": 10, "TCP_KEEPINTVL": 5, "TCP_KEEPCNT": 3, "TCP_USER_TIMEOUT": 25_000}


def configure(url: str) -> None:
    """Set the database's address, without connecting."""
    DB.config = {
        "dsn": url,
        "connection_class": Connection,
        "server_settings": {"timezone": "UTC", "jit": "off", "application_name": "leadwire"},
    }


async def open_pool(url: str, size: int, *, role: Role = "maintenance", indexes_only: bool = False) -> None:
    """Connect. Raise one of `GONE`, or asyncpg's error for a wrong database or user.

    `role` sets how long a statement may take, unless `acting_as` says otherwise; all but maintenance keep plans, and
    no transaction that idles.

    `indexes_only` is for what reads queues: empty when a statement is planned, and long a minute later, before there
    are statistics again. Every statement of theirs has an index for each table.
    """
    configure(url)
    DB.role = role
    if role != "maintenance":
        DB.config["server_settings"] |= _PROCESS
    if role == "jobs":
        DB.config["server_settings"] |= _JOBS
    if indexes_only:
        DB.config["server_settings"] |= _INDEXES_ONLY
    DB.hosts = hosts = Hosts(url)
    DB.pool = await asyncpg.create_pool(  # type: ignore[call-overload]  # its stub knows no `**options`
        **DB.config,
        min_size=0,  # asyncpg opens none behind our back: `Pool` counts them
        init_size=min(size, 2),
        max_size=size,
        max_inactive_connection_lifetime=0,
        max_queries=10**9,
        statement_cache_size=256,
        connect=hosts.connect,
        init=prepare,
    )
    DB.connections = pool = Pool(DB.pool)
    if role != "maintenance":
        hosts.pool = pool
        DB.watching = asyncio.create_task(watch(pool, hosts))


async def close_pool() -> None:
    """Close every connection; safe to call when there is no pool."""
    if DB.connections:
        connections, DB.connections, DB.pool, DB.hosts = DB.connections, None, None, None
        await connections.close()
    if DB.watching:  # until then: what is to be closed may be frozen
        DB.watching.cancel()
        DB.watching = None


def pool_use() -> dict[str, int]:
    """How many connections are in each state, as `Pool.use` says; nothing when there is no pool."""
    return DB.connections.use() if DB.connections else {}


async def rows(sql: str, *args: Any) -> list[Row]:
    """Run one statement, in the open transaction if there is one, and return its rows."""
    return await DB.fetch(sql, args)


async def row(sql: str, *args: Any) -> Row | None:
    """Return the first row, or None."""
    return next(iter(await rows(sql, *args)), None)


async def value(sql: str, *args: Any) -> Any:
    """The first column of the first row, or None."""
    values = await rows(sql, *args)
    return values[0][0] if values else None


def transaction() -> contextlib.AbstractAsyncContextManager[None]:
    """All or nothing. An inner one joins the outer: never catch an error of a change inside another."""
    return contextlib.nullcontext() if in_transaction() else DB.transaction()


async def savepoint() -> Callable[[], Awaitable[None]]:
    """Set a savepoint in the open transaction. Return a function that rolls back to it, also after a failure."""
    opened = DB.current_transaction.get()
    assert isinstance(opened, Opened), "no transaction is open"  # noqa: S101 - a programming error
    opened.savepoints += 1
    name, count = f"savepoint_{opened.savepoints}", len(opened.hooks)
    await opened.connection.execute(f"SAVEPOINT {name}")

    async def roll_back() -> None:
        await opened.connection.execute(f"ROLLBACK TO SAVEPOINT {name}")
        del opened.hooks[count:]

    return roll_back


def in_transaction() -> bool:
    return DB.current_transaction.get() is not None


def after_commit(hook: Callable[[], None]) -> None:
    """Call `hook` once when the open transaction has committed; at once when there is none."""
    opened = DB.current_transaction.get()
    if isinstance(opened, Opened):
        opened.hooks.append(hook)
    else:
        hook()


async def prepare(connection: asyncpg.Connection) -> None:
    """Set the limits of a new connection, and send JSON columns as text and return them unparsed, as `msgspec.Raw`."""
    _keep_alive(connection)
    async with asyncio.timeout(Pool.patience):
        await connection.set_type_codec(
            "json",
            schema="pg_catalog",
            format="binary",
            encoder=lambda text: text.encode() if isinstance(text, str) else bytes(text),
            decoder=msgspec.Raw,
        )


def _keep_alive(connection: Any) -> None:
    """Notice within half a minute that a database host is gone without a packet, as in a failover.

    asyncpg leaves the waiting to TCP: 15 minutes for what was sent, forever for a reply. On Linux both get limits here;
    elsewhere only the system's keepalive is turned on. A Unix socket needs neither.
    """
    sock = connection._transport.get_extra_info("socket")  # noqa: SLF001 - asyncpg has no other way in
    if sock is None or sock.family not in (socket.AF_INET, socket.AF_INET6):
        return
    sock.setsockopt(socket.SOL_SOCKET, socket.SO_KEEPALIVE, 1)
    for name, value in _TCP.items():
        if hasattr(socket, name):
            sock.setsockopt(socket.IPPROTO_TCP, getattr(socket, name), value)
