"""How endpoints are doing, from the hourly figures: for lists and plots."""

from collections.abc import Sequence
from datetime import datetime, timedelta

from msgspec import Struct

from leadwire.delivery.states import Outcome
from leadwire.delivery.worker.hourly_stats import BOUNDS
from leadwire.infrastructure import clock, db
from leadwire.infrastructure.db.statements import named

_HOURS, _LATEST, _NOW, _DAYS = named(__file__, "hours latest now days")


class _Counts(Struct, frozen=True):
    """`p95` in milliseconds; None when there were none."""

    delivered: int
    failed: int
    p95: float | None

    @property
    def share(self) -> float | None:
        """Of all, how many delivered; None when there were none."""
        total = self.delivered + self.failed
        return self.delivered / total if total else None


class Span(_Counts, frozen=True):
    """Attempts of one hour; or deliveries of one day (UTC): how many arrived at the first attempt, and how many not."""

    at: datetime


class Stats(_Counts, frozen=True):
    """One endpoint's last hours, oldest first; hours without attempts are there, empty."""

    hours: list[Span]
    last_at: datetime | None
    last_outcome: Outcome | None
    next_at: datetime | None
    """When the next waiting delivery is due, and a pause of its endpoint over."""
    waiting: int
    dead: int


async def of(workspace: str, endpoint_ids: Sequence[str], hours: int = 24) -> dict[str, Stats]:
    """Return the figures of some endpoints of one workspace, the present hour included. Unknown ids are left out."""
    now = clock.now().replace(minute=0, second=0, microsecond=0)
    slots = [now - timedelta(hours=ago) for ago in reversed(range(hours))]
    which = {"workspace": workspace, "endpoints": list(endpoint_ids)}
    rows = await _HOURS.rows(**which, since=slots[0])
    by_endpoint: dict[str, dict[datetime, db.Row]] = {}
    for row in rows:
        by_endpoint.setdefault(row["endpoint_id"], {})[row["hour"]] = row
    return {row["id"]: _stats(by_endpoint.get(row["id"], {}), slots, row) for row in await _NOW.rows(**which)}


async def by_day(workspace: str, endpoint_id: str, days: int = 30) -> list[Span]:
    """Return the last days of an endpoint, today included, oldest first.

    Of days before first attempts were counted, all attempts count.
    """
    today = clock.now().replace(hour=0, minute=0, second=0, microsecond=0)
    slots = [today - timedelta(days=ago) for ago in reversed(range(days))]
    hours: dict[object, list[db.Row]] = {}
    for row in await _DAYS.rows(workspace=workspace, endpoint_id=endpoint_id, since=slots[0]):
        hours.setdefault(row["day"], []).append(row)
    return [_day(at, hours.get(at.date(), [])) for at in slots]


def together(all_stats: Sequence[Stats]) -> Stats:
    """Return the figures of several endpoints as those of one; `p95` is the slowest's, `next_at` the first."""
    return Stats(
        sum(stats.delivered for stats in all_stats),
        sum(stats.failed for stats in all_stats),
        max((stats.p95 for stats in all_stats if stats.p95 is not None), default=None),
        [
            Span(sum(stats.delivered for stats in hour), sum(stats.failed for stats in hour), None, hour[0].at)
            for hour in zip(*(stats.hours for stats in all_stats), strict=True)
        ],
        None,
        None,
        min((stats.next_at for stats in all_stats if stats.next_at), default=None),
        sum(stats.waiting for stats in all_stats),
        sum(stats.dead for stats in all_stats),
    )


async def attempts(endpoint_id: str) -> tuple[int, ...]:
    """Return the latest hour that had attempts, how many were delivered and failed: it differs after each attempt."""
    row = await _LATEST.row(endpoint_id=endpoint_id)
    return tuple(row or ())


def p95(took: Sequence[int]) -> float | None:
    """Return the duration that 95 % stay under, in milliseconds, by a straight line within its bucket."""
    total = sum(took)
    if not total:
        return None
    wanted, seen = total * 0.95, 0
    for index, number in enumerate(took):
        if number and seen + number >= wanted:
            low, high = BOUNDS[index - 1] if index else 0, BOUNDS[min(index, len(BOUNDS) - 1)]
            return low + (high - low) * (wanted - seen) / number
        seen += number
    return float(BOUNDS[-1])


def _day(at: datetime, rows: Sequence[db.Row]) -> Span:
    counted = any(row["first_delivered"] or row["first_failed"] for row in rows)
    first = "first_" if counted else ""
    delivered, failed = (sum(row[f"{first}{name}"] for row in rows) for name in ("delivered", "failed"))
    return Span(delivered, failed, _p95_of(rows), at)


def _stats(by_hour: dict[datetime, db.Row], slots: Sequence[datetime], present: db.Row) -> Stats:
    rows = list(by_hour.values())
    hours = [
        Span(row["delivered"], row["failed"], p95(row["took"]), at)
        if (row := by_hour.get(at))
        else Span(0, 0, None, at)
        for at in slots
    ]
    delivered, failed = (sum(row[name] for row in rows) for name in ("delivered", "failed"))
    return Stats(delivered, failed, _p95_of(rows), hours, *present[1:])


def _p95_of(rows: Sequence[db.Row]) -> float | None:
    return p95([sum(column) for column in zip(*(row["took"] for row in rows), strict=True)])
