"""The days of the tables that keep what has happened: made ahead, and dropped when they are past retention.

What is still to be sent is not among them. Of a day that is dropped, the events of such deliveries and their attempts
stay behind in the default partition, so that nobody who is disabled for long keeps everybody's history.

Each day is a transaction of its own that waits for no lock longer than `_LOCK_TIMEOUT`, because what comes after it
waits as well. What could not be locked raises asyncpg's LockNotAvailableError, and is tried again by the caller.
"""

from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from datetime import UTC, date, datetime, time, timedelta
from typing import Final

from leadwire.infrastructure import clock, db, ids
from leadwire.infrastructure.db.statements import named

AHEAD: Final = 7  # days; the default partition catches what an even longer stop would miss
_LOCK_TIMEOUT: Final = "50ms"

_DAYS, _TODAY, _OLDEST_BY_DEFAULT, _MAKE, _DROP, _TRY_LOCK, _DELETE_HOURS, _LOCK_ENDED = named(
    __file__, "days today oldest_by_default make drop try_lock delete_hours lock_ended"
)
_DELETE_ENDED: Final = named(__file__, "delete_events delete_results delete_attempts")
# Everything that reads or writes a partition locks its parent first, so with these locks nobody has one. Both need it:
# DROP, which must not take what was redriven a moment ago; and the move of rows out of the default partition, because
# a row that was on its way there would fail when the day has got a partition of its own.
_LOCK: Final = "LOCK TABLE ONLY event, ONLY delivery_result, ONLY attempt IN ACCESS EXCLUSIVE MODE"


async def maintain(retention_days: int) -> tuple[list[date], list[date]]:
    """Make the days ahead, drop the old. Return the days that were made and those that were dropped.

    One process does it at a time; another one that tries meanwhile does nothing. Today comes last among the days that
    are made: rows of it may have to be moved, and what is ahead does not depend on that.
    """
    today: date = await _TODAY.value()
    earliest = today - timedelta(days=retention_days)
    existing = set(await _existing())
    first = today  # to make, or the day of the oldest event in the default partition if it is to be kept
    if oldest := await _OLDEST_BY_DEFAULT.value():
        first = min(today, max(earliest, ids.moment(oldest).date()))
    wanted = [*range(1, AHEAD + 1), *range(0, (first - today).days - 1, -1)]  # days from today
    missing = [day for number in wanted if (day := today + timedelta(days=number)) not in existing]
    created = [day for day in missing if await _make(day)]
    # A wrong clock alone, the database's or ours, makes no day old.
    kept_from = min(earliest, clock.now().date() - timedelta(days=retention_days))
    dropped = [day for day in sorted(existing) if day < kept_from and await _drop(day)]
    await _DELETE_HOURS.rows(earliest=kept_from)
    await _delete_ended(kept_from)
    return created, dropped


async def days(retention_days: int) -> tuple[int, int]:
    """Return for how many days ahead there are partitions, and how many days are kept longer than retention."""
    today: date = await _TODAY.value()
    existing = await _existing()
    ahead = (existing[-1] - today).days if existing else 0
    return ahead, sum(day < today - timedelta(days=retention_days + 1) for day in existing)


async def kept_from() -> str:
    """Return the lowest event id of the oldest day that is kept: an older event may have been dropped with its day."""
    existing = await _existing()
    return ids.floor("evt", datetime.combine(existing[0], time(), UTC)) if existing else "evt_z"


async def _existing() -> list[date]:
    return [row["day"] for row in await _DAYS.rows()]


async def _make(day: date) -> bool:
    async with _locked() as locked:
        if locked:
            await _MAKE.rows(day=day)
        return locked


async def _drop(day: date) -> bool:
    """Keep what belongs to unfinished deliveries, which is only sure once nobody else has the tables: see redrives."""
    async with _locked() as locked:
        if not locked or day not in await _existing():
            return False
        await _DROP.rows(day=day)
        return True


async def _delete_ended(kept_from: date) -> None:
    """Delete by default what was kept for deliveries that have ended. What was sent again meanwhile has committed once
    its event is locked here: only the next statement sees it.
    """
    async with db.transaction():
        event_ids = [row["id"] for row in await _LOCK_ENDED.rows(earliest=kept_from)]
        for statement in _DELETE_ENDED:
            values = {"ids": event_ids, "earliest": kept_from}
            await statement.rows(**{name: values[name] for name in statement.names})


@asynccontextmanager
async def _locked() -> AsyncIterator[bool]:
    """Open a transaction with the tables locked; without locks, and false, when another process is at it."""
    async with db.transaction():
        locked = await _TRY_LOCK.value()
        if locked:
            await db.rows(f"SET LOCAL lock_timeout = '{_LOCK_TIMEOUT}'")
            await db.rows("SET LOCAL leadwire.partitions = 'moved'")  # whose changes are refused does not stop it
            await db.rows(_LOCK)
        yield locked
