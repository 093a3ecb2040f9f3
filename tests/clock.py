"""The database's clock, which stands still and is moved: a `now()` of ours stands before PostgreSQL's on the search
path. How long a test takes is not seen by its statements.
"""

from datetime import datetime

from leadwire.infrastructure import db


class DatabaseClock:
    """Stops and moves `now()` as SQL statements see it."""

    @staticmethod
    async def install() -> None:
        """Once per database."""
        await db.rows("CREATE SCHEMA test_clock")
        await db.rows("CREATE TABLE test_clock.moved (by interval NOT NULL, stopped timestamptz)")
        await db.rows("INSERT INTO test_clock.moved VALUES ('0')")
        await db.rows(
            """CREATE FUNCTION test_clock.now() RETURNS timestamptz LANGUAGE sql STABLE AS
               'SELECT coalesce(moved.stopped, pg_catalog.now()) + moved.by FROM test_clock.moved'"""
        )

    async def reset(self) -> None:
        """The true time."""
        await db.rows("UPDATE test_clock.moved SET by = '0', stopped = NULL")

    async def stop(self) -> datetime:
        """Stand still. Return the time."""
        stopped: datetime = await db.value("UPDATE test_clock.moved SET stopped = pg_catalog.now() RETURNING stopped")
        return stopped

    async def forward(self, seconds: float) -> None:
        """Let `seconds` pass."""
        await db.rows("UPDATE test_clock.moved SET by = by + $1 * interval '1 second'", float(seconds))
