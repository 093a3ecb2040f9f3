"""The wire at a glance, for a person or a monitor."""

from typing import Final

from msgspec import Struct
from redis.asyncio import Redis

from leadwire.delivery import streams
from leadwire.delivery.states import STATES
from leadwire.infrastructure import db
from leadwire.infrastructure.redis_pool import AWAY

_UNDER_WAY: Final = ("waiting", "queued", "dead")
_COUNTED: Final = "SELECT state, count(*) FROM delivery GROUP BY state"
_UNFINISHED: Final = " UNION ALL ".join(  # each of these states has an index of its own
    f"SELECT '{state}' AS state, count(*) FROM delivery WHERE state = '{state}'" for state in _UNDER_WAY
)
_BEHIND: Final = 5  # endpoints


class Unrelayed(Struct):
    """Committed events that no relay has taken yet."""

    events: int
    oldest_seconds: float


class Overdue(Struct):
    """Deliveries of enabled endpoints that wait past their time: the sign of trouble, not the depth of a queue."""

    deliveries: int
    oldest_seconds: float


class Behind(Struct):
    """An endpoint with overdue deliveries.

    A small `window` means that its receiver hangs or cannot be reached: only so many are sent at a time, so that it
    holds up nobody else.
    """

    endpoint: str
    url: str
    deliveries: int
    oldest_seconds: float
    window: int


class Stream(Struct):
    """One stream. `lag`: entries no worker has read yet; `pending`: read and not acknowledged."""

    name: str
    length: int
    lag: int
    pending: int
    oldest_seconds: float


class Worker(Struct):
    """A consumer of the streams, and the seconds since it last asked."""

    name: str
    idle_seconds: float


class Status(Struct):
    """Everything. `behind` are the endpoints with the most overdue deliveries.

    `streams` and `workers` are null while Redis is away.
    """

    unrelayed: Unrelayed
    deliveries: dict[str, int]
    overdue: Overdue
    behind: list[Behind]
    dead_letters: int
    set_aside: int
    streams: list[Stream] | None
    workers: list[Worker] | None


async def read(redis: Redis | None, shards: int, *, finished: bool) -> Status:
    """How the wire stands now. Without `finished`, deliveries that are done, perhaps millions, are not counted."""
    events, oldest = await _pair(
        "SELECT count(*), extract(epoch FROM now() - min(recorded_at)) FROM outbox_event WHERE relayed_at IS NULL"
    )
    overdue, latest = await _pair(
        """SELECT count(*), extract(epoch FROM now() - min(d.due_at)) FROM delivery d
           JOIN webhook_endpoint e ON e.id = d.endpoint_id AND e.enabled
           WHERE d.state = 'waiting' AND d.due_at < now()"""
    )
    behind = await db.rows(
        """SELECT e.id, e.url, count(*) AS deliveries, extract(epoch FROM now() - min(d.due_at)) AS age,
           e.admission_window FROM delivery d JOIN webhook_endpoint e ON e.id = d.endpoint_id AND e.enabled
           WHERE d.state = 'waiting' AND d.due_at < now() GROUP BY e.id ORDER BY count(*) DESC, e.id LIMIT $1""",
        _BEHIND,
    )
    counted = await db.rows(_COUNTED if finished else _UNFINISHED)
    deliveries = dict.fromkeys(STATES if finished else _UNDER_WAY, 0) | {row["state"]: row["count"] for row in counted}
    dead = await db.value("SELECT count(*) FROM delivery WHERE state = 'dead' AND NOT test")
    aside = await db.value("SELECT count(*) FROM delivery WHERE set_aside_at IS NOT NULL")
    found = workers = None
    if redis is not None:
        try:
            loads = await streams.loads(redis, shards)
            idle = await streams.consumers(redis, shards)
        except AWAY:
            pass
        else:
            found = [
                Stream(load.stream, load.length, load.length - load.pending, load.pending, round(load.oldest, 3))
                for load in loads
            ]
            workers = [Worker(name, seconds) for name, seconds in sorted(idle.items()) if seconds < streams.ALIVE]
    return Status(
        unrelayed=Unrelayed(events, oldest),
        deliveries=deliveries,
        overdue=Overdue(overdue, latest),
        behind=[
            Behind(row["id"], row["url"], row["deliveries"], round(float(row["age"]), 3), row["admission_window"])
            for row in behind
        ],
        dead_letters=dead,
        set_aside=aside,
        streams=found,
        workers=workers,
    )


async def _pair(sql: str) -> tuple[int, float]:
    row = await db.row(sql)
    assert row is not None  # noqa: S101 - an aggregate always answers one row
    return row[0], round(float(row[1] or 0.0), 3)
