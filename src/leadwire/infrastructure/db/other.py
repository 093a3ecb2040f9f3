"""The database of another installation, for a command that works on two."""

from collections.abc import AsyncIterator, Iterator
from contextlib import asynccontextmanager, contextmanager
from typing import Any, cast

from leadwire.infrastructure import db
from leadwire.infrastructure.db import DB
from leadwire.infrastructure.db.hosts import Hosts


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

    async def pages(self, text: str, *values: Any, size: int) -> AsyncIterator[list[db.Row]]:
        """Yield the rows of a query in the open transaction, so many at a time."""
        cursor = await self.connection.cursor(text, *values)
        while page := await cursor.fetch(size):
            yield page


@asynccontextmanager
async def connected(url: str) -> AsyncIterator[Other]:
    """Connect for as long as the block lasts; a lock of the session ends with it. Raise what connecting raises."""
    connection = await Hosts(url).connect(url, server_settings={"timezone": "UTC", "application_name": "leadwire"})
    try:
        await db.prepare(connection)
        yield Other(connection)
    finally:
        connection.terminate()


@contextmanager
def at_home() -> Iterator[None]:
    """Run the block's statements here again."""
    with _in(None):
        yield


@contextmanager
def _in(other: Other | None) -> Iterator[None]:
    token = DB.current_transaction.set(cast(Any, other))
    try:
        yield
    finally:
        DB.current_transaction.reset(token)
