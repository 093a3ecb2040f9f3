"""The event tables' days: made ahead, and dropped when they are past retention and nothing in them is unfinished."""

from datetime import date, timedelta
from typing import Final

from leadwire import clock, db

AHEAD: Final = 7  # days; the default partition catches what an even longer stop would miss
_TABLES: Final = ("attempt", "delivery", "outbox_event")  # children first: a story is told whole or not at all

_DAYS: Final = """
SELECT to_date(right(c.relname, 8), 'YYYYMMDD') AS day FROM pg_inherits i JOIN pg_class c ON c.oid = i.inhrelid
WHERE i.inhparent = 'outbox_event'::regclass AND c.relname ~ '_[0-9]{8}$' ORDER BY day"""


async def tend(retention_days: int) -> tuple[int, list[date]]:
    """Make the days ahead, drop the old. Answers how many tables were made and which days were dropped.

    One process does it at a time; another one that comes meanwhile does nothing.
    """
    today = clock.now().date()
    async with db.transaction():
        if not await db.value("SELECT pg_try_advisory_xact_lock(7223)"):
            return 0, []
        await db.rows("SET LOCAL lock_timeout = '5s'")  # never make the product wait behind us
        made = await db.value("SELECT make_event_partitions($1, $2)", today, today + timedelta(days=AHEAD))
        old = [row["day"] for row in await db.rows(_DAYS) if row["day"] < today - timedelta(days=retention_days)]
        dropped = [day for day in old if not await _unfinished(day)]
        for day in dropped:
            for table in _TABLES:
                await db.rows(f"DROP TABLE {table}_{day:%Y%m%d}")
        await db.rows("DELETE FROM endpoint_hour WHERE hour < $1", clock.ago(days=retention_days))
    return made, dropped


async def days(retention_days: int) -> tuple[int, int]:
    """For how many days ahead there are tables, and how many days are kept longer than retention."""
    today = clock.now().date()
    made = [row["day"] for row in await db.rows(_DAYS)]
    ahead = (max(made) - today).days if made else 0
    return ahead, sum(day < today - timedelta(days=retention_days + 1) for day in made)


async def _unfinished(day: date) -> bool:
    return bool(
        await db.value(f"""
            SELECT EXISTS (SELECT 1 FROM outbox_event_{day:%Y%m%d} WHERE relayed_at IS NULL)
                OR EXISTS (SELECT 1 FROM delivery_{day:%Y%m%d} WHERE state IN ('waiting', 'queued'))""")
    )
