"""Counts for plots: attempts by endpoint and hour. Collected here, written every two seconds.

Beside the ledger, not part of it: what a worker has not written when it is killed is missing from the plots only.
"""

import asyncio
import bisect
import logging
import operator
from collections import defaultdict
from collections.abc import Sequence
from datetime import UTC, datetime
from typing import Final

from leadwire.delivery.states import Outcome
from leadwire.delivery.worker.attempt import Attempt
from leadwire.infrastructure import db, redis_pool, telemetry
from leadwire.infrastructure.db.statements import lists, load

BOUNDS: Final = (10, 20, 50, 100, 200, 500, 1000, 2000, 5000, 10_000, 20_000, 30_000)
"""Upper ends of the duration buckets in milliseconds; one more bucket holds what took longer."""

_EVERY: Final = 2.0  # seconds
_PLAIN: Final = 4  # counts before those by duration
_MOST: Final = 10_000  # endpoints' hours that wait while the database is away

_LATER: Final[tuple[type[BaseException], ...]] = (*db.GONE, *db.REFUSING, db.Deadlock, db.Orphaned, db.Canceled)

_ADD: Final = load(__file__)["add"]


class _Hour:
    __slots__ = ("counts", "last")

    def __init__(self) -> None:
        # Delivered, failed, both of first attempts alone, and by duration.
        self.counts = [0] * (_PLAIN + len(BOUNDS) + 1)
        self.last: tuple[datetime, Outcome] = (datetime.min.replace(tzinfo=UTC), "delivered")


_hours: dict[tuple[str, datetime], _Hour] = defaultdict(_Hour)
_due: list[asyncio.TimerHandle] = []


def add(settled: Sequence[Attempt]) -> None:
    """Count attempts that counted; test events are not among an endpoint's counts."""
    for one in settled:
        if one.job.test:
            continue
        hour = _hours[one.job.entry.key.endpoint_id, one.started_at.replace(minute=0, second=0, microsecond=0)]
        failed = one.outcome != "delivered"
        hour.counts[failed] += 1
        hour.counts[2 + failed] += one.job.number == 1 and one.job.generation == 1
        hour.counts[_PLAIN + bisect.bisect_left(BOUNDS, one.duration_ms)] += 1
        hour.last = max(hour.last, (one.started_at, one.outcome))
    if _hours and not _due:
        _due.append(asyncio.get_running_loop().call_later(_EVERY, _start))


async def flush() -> None:
    """Write what was collected; while the database is away it waits here, but not without end."""
    collected = _hours.copy()
    _hours.clear()
    if not collected:
        return
    rows = [
        (*key, *hour.counts[:_PLAIN], ",".join(map(str, hour.counts[_PLAIN:])), *hour.last)
        for key, hour in collected.items()
    ]
    try:
        await _ADD.rows(**lists("endpoints hours delivered failed firsts failing took lasts outcomes", rows))
    except _LATER as error:
        telemetry.log("hourly_stats.late", level=logging.WARNING, error=error)
        if len(_hours) + len(collected) <= _MOST:
            for key, old in collected.items():
                new = _hours[key]
                new.counts = list(map(operator.add, new.counts, old.counts))
                new.last = max(new.last, old.last)


def _start() -> None:
    _due.clear()
    redis_pool.run_in_background(flush())
