"""What is between this process and PostgreSQL: nothing, or a pooler such as PgBouncer, and whether it is of use."""

import contextlib
from typing import Any, Final, Literal

import asyncpg

from leadwire.infrastructure.db import DB

_PATIENCE: Final = 3.0  # seconds
_OTHERS: Final = 4
_LOST: Final = (asyncpg.InvalidSQLStatementNameError, asyncpg.DuplicatePreparedStatementError)

Pooler = Literal["none", "usable", "statement", "forgetful"]


async def find() -> Pooler:
    """Return whether there is a pooler. In `statement` mode it allows no transactions; a `forgetful` one gives us
    another connection to the server without the statements that we have prepared.
    """
    first = await DB.get_new_connection()
    try:
        try:
            async with first.transaction():
                pid = await first.fetchval("SELECT pg_backend_pid()")
        except asyncpg.PostgresConnectionError as error:
            if "statement pooling" not in str(error):
                raise
            return "statement"
        if pid == first.get_server_pid():  # a pooler reports process ids of its own
            return "none"
        await _use_elsewhere(first)
        return "usable"
    except _LOST:
        return "forgetful"
    finally:
        await _close(first)


async def _use_elsewhere(first: Any) -> None:
    """Run a statement after others have taken the connection to the server that it was prepared on. Raise one of
    `_LOST` where it is not known.
    """
    prepared = await first.prepare("SELECT pg_backend_pid()")
    server = await prepared.fetchval(timeout=_PATIENCE)
    async with contextlib.AsyncExitStack() as others:
        with contextlib.suppress(TimeoutError):  # it has no more connections to the server: each session keeps its own
            for _ in range(_OTHERS):
                other = await DB.get_new_connection()
                others.push_async_callback(_close, other)
                await other.execute("BEGIN", timeout=_PATIENCE)
                if await other.fetchval("SELECT pg_backend_pid()", timeout=_PATIENCE) == server:
                    await prepared.fetchval(timeout=_PATIENCE)
                    break


async def _close(connection: Any) -> None:
    with contextlib.suppress(TimeoutError):
        await connection.close(timeout=_PATIENCE)
