"""How delivery stands, in exact numbers, for a person or a monitor. Alerts rest on `gauges`, which cost less."""

import contextlib
from collections.abc import Sequence
from typing import Final

from msgspec import Struct
from redis.asyncio import Redis

from leadwire.delivery import streams
from leadwire.delivery.states import STATES
from leadwire.delivery.streams import StreamState
from leadwire.delivery.table import Delivery, DeliveryResult
from leadwire.infrastructure.db.statements import Statement, sql, statement
from leadwire.infrastructure.redis_pool import AWAY

ALIVE: Final = 30.0
"""Seconds since it last asked for work within which a worker counts as alive."""
_UNFINISHED_STATES: Final = ("waiting", "queued", "dead")
_LISTED: Final = 5  # endpoints

# Deliveries by state: all, or only those of the states that have an index of their own.
_COUNTED: Final = sql("SELECT state, count(*) FROM every_delivery GROUP BY state")
_UNFINISHED: Final = sql(
    " UNION ALL ".join(
        f"SELECT '{state}' AS state, count(*) FROM every_delivery WHERE state = '{state}'"
        for state in _UNFINISHED_STATES
    )
)
# Events that no relay has taken, and the age of the oldest.
_UNRELAYED: Final = sql("SELECT count(*), extract(epoch FROM now() - min(recorded_at)) FROM outbox")
_OVERDUE_OF: Final = """FROM delivery d JOIN webhook_endpoint e ON e.id = d.endpoint_id AND e.enabled
        AND coalesce(e.paused_until, now()) <= now()
    WHERE d.state = 'waiting' AND d.due_at < now()"""
# Deliveries past their time: all, and of the endpoints that have the most.
_OVERDUE: Final = sql(f"SELECT count(*), extract(epoch FROM now() - min(d.due_at)) {_OVERDUE_OF}")
_BEHIND: Final = sql(f"""
SELECT e.id, e.url, count(*), extract(epoch FROM now() - min(d.due_at)), e.admission_window {_OVERDUE_OF}
GROUP BY e.id ORDER BY count(*) DESC, e.id LIMIT :limit""")
_PAUSED: Final = sql("SELECT count(*) FROM webhook_endpoint WHERE enabled AND paused_until > now()")
_DEAD: Final = statement(DeliveryResult.count().where(DeliveryResult.state == "dead", DeliveryResult.test.eq(False)))
_QUARANTINED: Final = statement(Delivery.count().where(Delivery.set_aside_at.is_not_null()))


class Unrelayed(Struct):
    """Committed events that no relay has taken yet."""

    events: int
    oldest_seconds: float


class Overdue(Struct):
    """Deliveries that wait past their time though their endpoint is enabled and not paused: a sign of trouble."""

    deliveries: int
    oldest_seconds: float


class OverdueEndpoint(Struct):
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

    `paused_endpoints`: how many receivers asked for a pause with Retry-After that has not ended. `streams` and
    `workers` are null while Redis is away.
    """

    unrelayed: Unrelayed
    deliveries: dict[str, int]
    overdue: Overdue
    behind: list[OverdueEndpoint]
    paused_endpoints: int
    dead_letters: int
    set_aside: int
    streams: list[Stream] | None
    workers: list[Worker] | None


async def read(redis: Redis | None, shards: int, *, finished: bool) -> Status:
    """Return how delivery stands now. Without `finished`, what is done, perhaps millions, is not counted."""
    counted = await (_COUNTED if finished else _UNFINISHED).rows()
    known = STATES if finished else _UNFINISHED_STATES
    found = workers = None
    with contextlib.suppress(*AWAY):
        if redis is not None:
            states = await streams.states(redis, shards)
            found = [Stream(one.name, one.length, one.lag, one.pending, round(one.oldest, 3)) for one in states]
            workers = [Worker(name, seconds) for name, seconds in sorted(alive(states).items())]
    return Status(
        unrelayed=Unrelayed(*await _count_and_age(_UNRELAYED)),
        deliveries=dict.fromkeys(known, 0) | {row["state"]: row["count"] for row in counted},
        overdue=Overdue(*await _count_and_age(_OVERDUE)),
        behind=[
            OverdueEndpoint(endpoint, url, count, round(float(age), 3), window)
            for endpoint, url, count, age, window in await _BEHIND.rows(limit=_LISTED)
        ],
        paused_endpoints=await _PAUSED.value(),
        dead_letters=await _DEAD.value(),
        set_aside=await _QUARANTINED.value(),
        streams=found,
        workers=workers,
    )


def alive(states: Sequence[StreamState]) -> dict[str, float]:
    """Return the workers that asked for work within `ALIVE`, and the seconds since each did."""
    names = {name for state in states for name in state.consumers}
    idle = {name: min(state.consumers.get(name, ALIVE) for state in states) for name in names}
    return {name: seconds for name, seconds in idle.items() if seconds < ALIVE}


async def _count_and_age(statement: Statement) -> tuple[int, float]:
    ((count, age),) = await statement.rows()
    return count, round(float(age or 0.0), 3)
