"""The database of another installation, for a command that works on two."""

from collections.abc import AsyncIterator, Iterator
from contextlib import asynccontextmanager, contextmanager, suppress
from typing import Any, Final

from leadwire.infrastructure import db
from leadwire.infrastructure.db import DB
from leadwire.infrastructure.db.hosts import Hosts

_PATIENCE: Final = 5.0  # seconds for a server to end a session


class Other:
    """One connection to it."""

    def __init__(self, connection: Any) -> None:
        self.connection = connection

    @asynccontextmanager
    async def transaction(self) -> AsyncIterator[None]:
        """Statements inside the block run there, in one transaction; those inside `at_home` run here."""
        async with self.connection.transaction():
            with _in(self):
                yield

    @asynccontextmanager
    async def snapshot(self) -> AsyncIterator[int]:
        """The same, but all statements there see one snapshot. Yield its `xmin`: all that is older has ended."""
        async with self.connection.transaction(isolation="repeatable_read", readonly=True):
            with _in(self):
                yield await db.value("SELECT pg_snapshot_xmin(pg_current_snapshot())::text::bigint")

    async def pages(self, text: str, *values: Any, size: int) -> AsyncIterator[list[db.Row]]:
        """Yield the rows of a query in the open transaction, so many at a time."""
        cursor = await self.connection.cursor(text, *values)
        while page := await cursor.fetch(size):
            yield page


@asynccontextmanager
async def connected(url: str) -> AsyncIterator[Other]:
    """Connect for as long as the block lasts. Raise what connecting raises.

    After it, the server has released the session's locks; after an error it does so a moment later.
    """
    connection = await Hosts(url).connect(url, server_settings={"timezone": "UTC", "application_name": "leadwire"})
    try:
        await db.prepare(connection)
        yield Other(connection)
        with suppress(TimeoutError):
            await connection.close(timeout=_PATIENCE)
    finally:
        connection.terminate()


@contextmanager
def at_home() -> Iterator[None]:
    """Run the block's statements here again."""
    with _in(None):
        yield


@contextmanager
def _in(other: Other | None) -> Iterator[None]:
    token = DB.current_transaction.set(other)
    try:
        yield
    finally:
        DB.current_transaction.reset(token)
