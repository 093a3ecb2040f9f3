"""Connections of psycopg 3, asyncpg, sqlite3 and aiosqlite, asked in one way, whether they block or not."""

import asyncio
import inspect
import threading
from collections.abc import AsyncIterator, Coroutine
from contextlib import AsyncExitStack, asynccontextmanager, suppress
from typing import Any, Final, TypeVar
from weakref import WeakValueDictionary

T = TypeVar("T")

_SINCE_POSTGRES: Final = "CURRENT_TIMESTAMP - make_interval(secs => {})"
_SINCE_SQLITE: Final = "datetime('now', '-' || {} || ' seconds')"


class _Turns:
    """Which thread and task are in a block on a connection. The others wait for `lock`, of asyncio or threading."""

    def __init__(self, lock: Any) -> None:
        self.lock = lock
        self.owner: tuple[int, asyncio.Task[Any] | None] | None = None


_TURNS: Final = WeakValueDictionary[int, _Turns]()  # by the connection's id, as sqlite3 has no weak references to it
_ADDING: Final = threading.Lock()


@asynccontextmanager
async def in_transaction(connection: Any) -> AsyncIterator[None]:
    """The block is a transaction, or a savepoint in one that is open: your own, or that of a block around this one.

    Blocks of other tasks and threads on the connection wait: as savepoints in this transaction, they would be committed
    or undone with it. Raise RuntimeError where to wait would be for ever: in another task, on a blocking connection
    whose block is in the same thread.
    """
    async with _turn(connection), AsyncExitStack() as stack:
        transaction: Any = connection.transaction() if hasattr(connection, "transaction") else _sqlite(connection)
        if hasattr(transaction, "__aenter__"):
            await stack.enter_async_context(transaction)
        else:
            stack.enter_context(transaction)
        yield


@asynccontextmanager
async def _turn(connection: Any) -> AsyncIterator[None]:
    """Wait until no other task or thread is in a block on the connection."""
    waits, own = awaits(connection), (threading.get_ident(), _task())
    with _ADDING:
        turns = _TURNS.setdefault(id(connection), _Turns(asyncio.Lock() if waits else threading.Lock()))
    owner = turns.owner
    if owner == own:
        yield
        return
    if owner and owner[0] == own[0] and not waits:
        raise RuntimeError("another task of this thread is in a block on this connection: give each its own connection")
    await value(turns.lock.acquire())
    turns.owner = own
    try:
        yield
    finally:
        turns.owner = None
        turns.lock.release()


def _task() -> asyncio.Task[Any] | None:
    try:
        return asyncio.current_task()
    except RuntimeError:  # no loop runs in this thread
        return None


@asynccontextmanager
async def _sqlite(connection: Any) -> AsyncIterator[None]:
    begin, commit, undo = "BEGIN", "COMMIT", "ROLLBACK"
    if await _in_transaction(connection):
        begin, commit, undo = (f"{word} webhook_inbox" for word in ("SAVEPOINT", "RELEASE", "ROLLBACK TO"))
    try:
        await value(connection.execute(begin))
        yield
        await value(connection.execute(commit))
    except BaseException:
        with suppress(Exception):  # it has ended already on some errors, such as a full disk
            await value(connection.execute(undo))
        raise


async def _in_transaction(connection: Any) -> bool:
    """Ask aiosqlite in the connection's own thread, to which it has no public way. Later versions of SQLite let this
    wait for a statement that is under way there; the whole process would wait, and for ever if that one calls Python.
    """
    own_thread = getattr(connection, "_execute", None)
    return bool(await own_thread(lambda: connection.in_transaction) if own_thread else connection.in_transaction)


async def fetch_rows(connection: Any, sql: str, *values: str | int) -> list[Any]:
    """Run a statement that returns rows, with a place `{}` for each value. They are tuples, whatever the connection
    makes of rows by its `row_factory`.
    """
    postgres, numbered = hasattr(connection, "transaction"), hasattr(connection, "fetch")
    sql = sql.replace("{since}", _SINCE_POSTGRES if postgres else _SINCE_SQLITE)
    places = [f"${place}" if numbered else "%s" if postgres else "?" for place in range(1, len(values) + 1)]
    if numbered:
        return list(await connection.fetch(sql.format(*places), *values))
    cursor = await value(connection.cursor(**{"row_factory": lambda _: tuple} if postgres else {}))
    if not postgres:
        cursor.row_factory = None
    await value(cursor.execute(sql.format(*places), values))
    return list(await value(cursor.fetchall()))


async def value(result: Any) -> Any:
    """Return what a connection has returned, once it is there."""
    return await result if inspect.isawaitable(result) else result


def awaits(connection: Any) -> bool:
    """Whether a connection is asynchronous."""
    return hasattr(connection, "__aenter__") or hasattr(connection, "fetch")


def run_blocking(connection: Any, steps: Coroutine[Any, Any, T]) -> T:
    """Run what a blocking connection is asked. Raise TypeError where it is asynchronous: it is asked nothing then."""
    if awaits(connection):
        steps.close()
        raise TypeError("this connection is asynchronous: use the function's `_async`")
    return at_once(steps)


def at_once(steps: Coroutine[Any, Any, T]) -> T:
    """Run a coroutine that never waits, as its connection is blocking: it ends at its first step."""
    try:
        steps.send(None)
    except StopIteration as end:
        result: T = end.value
        return result
    raise TypeError("this connection is asynchronous")
