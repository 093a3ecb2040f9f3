"""Counts for plots: attempts by endpoint and hour."""

import bisect
import operator
from collections.abc import Mapping, Sequence
from datetime import UTC, datetime
from typing import Final

from leadwire.delivery.states import Outcome
from leadwire.delivery.worker.attempt import Attempt
from leadwire.infrastructure.collected import Collected
from leadwire.infrastructure.db.statements import lists, load

BOUNDS: Final = (10, 20, 50, 100, 200, 500, 1000, 2000, 5000, 10_000, 20_000, 30_000)
"""Upper ends of the duration buckets in milliseconds; one more bucket holds what took longer."""

_PLAIN: Final = 4  # counts before those by duration
_ADD: Final = load(__file__)["add"]


class _Hour:
    __slots__ = ("counts", "last")

    def __init__(self) -> None:
        # Delivered, failed, both of first attempts alone, and by duration.
        self.counts = [0] * (_PLAIN + len(BOUNDS) + 1)
        self.last: tuple[datetime, Outcome] = (datetime.min.replace(tzinfo=UTC), "delivered")

    def __add__(self, other: "_Hour") -> "_Hour":
        self.counts = list(map(operator.add, self.counts, other.counts))
        self.last = max(self.last, other.last)
        return self


def add(settled: Sequence[Attempt]) -> None:
    """Count attempts that counted; test events are not among an endpoint's counts."""
    for attempt in settled:
        if attempt.job.test:
            continue
        hour = _hours[attempt.job.entry.key.endpoint_id, attempt.started_at.replace(minute=0, second=0, microsecond=0)]
        failed = attempt.outcome != "delivered"
        hour.counts[failed] += 1
        hour.counts[2 + failed] += attempt.job.number == 1 and attempt.job.generation == 1
        hour.counts[_PLAIN + bisect.bisect_left(BOUNDS, attempt.duration_ms)] += 1
        hour.last = max(hour.last, (attempt.started_at, attempt.outcome))
    _hours.write_soon()


async def _write(collected: Mapping[tuple[str, datetime], _Hour]) -> None:
    rows = [
        (*key, *hour.counts[:_PLAIN], ",".join(map(str, hour.counts[_PLAIN:])), *hour.last)
        for key, hour in collected.items()
    ]
    await _ADD.rows(**lists("endpoints hours delivered failed firsts failing took lasts outcomes", rows))


_hours = Collected("hourly_stats", every=2.0, most=10_000, none=_Hour, add=operator.add, write=_write)
flush: Final = _hours.flush
