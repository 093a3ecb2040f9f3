"""How delivery stands, in exact numbers, for a person or a monitor. Alerts rest on `gauges`, which cost less."""

import asyncio
import contextlib
from collections.abc import Sequence
from typing import Final

from msgspec import Struct
from redis.asyncio import Redis

from leadwire.delivery import streams
from leadwire.delivery.states import EXACT, UNFINISHED
from leadwire.delivery.streams import StreamState
from leadwire.infrastructure.db.statements import named
from leadwire.infrastructure.jobs import reads as jobs
from leadwire.infrastructure.redis_pool import AWAY

ALIVE: Final = 30.0
"""Seconds since it last asked for work within which a worker counts as alive."""
_GONE: Final = 3600.0  # seconds; names of killed workers are kept for an hour
_LISTED: Final = 5  # endpoints
PATIENCE: Final = 2.0
"""Seconds for Redis, which may be frozen, where a person waits for a page."""

_COUNTED, _UNFINISHED, _TROUBLE, _BEHIND = named(__file__, "counted unfinished trouble behind")


class Unrelayed(Struct):
    """Committed events that no relay has taken yet."""

    events: int
    oldest_seconds: float


class Overdue(Struct):
    """Deliveries that wait past their time though their endpoint is enabled and not paused: a sign of trouble.

    What a receiver fetches by itself is not among them.
    """

    deliveries: int
    oldest_seconds: float


class OverdueEndpoint(Struct):
    """An endpoint with overdue deliveries. A small `window`: its receiver hangs, and may hold up nobody else."""

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

    `silent_workers` have not asked for longer, and did not leave: each is frozen, cut off or killed, and others take
    over what it holds. `paused_endpoints`: how many receivers asked for a pause with Retry-After that has not ended.
    `set_aside`: deliveries that no worker survived, and events that cannot be relayed. `streams` and both of `workers`
    are null while Redis is away. `background_seconds`: for how long no background process has begun what is due; null:
    there was never one.
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
    silent_workers: list[Worker] | None
    jobs: list[jobs.Summary]
    background_seconds: float | None


async def read(redis: Redis | None, shards: int, *, finished: bool, patience: float = PATIENCE) -> Status:
    """Return how delivery stands now. Without `finished`, what is done, perhaps millions, is not counted. `patience`:
    seconds until Redis counts as away.
    """
    counted = await (_COUNTED if finished else _UNFINISHED).rows()
    counted_states = EXACT if finished else (*UNFINISHED, "dead")
    found = workers = silent = None
    with contextlib.suppress(*AWAY):
        if redis is not None:
            async with asyncio.timeout(patience):
                states = await streams.states(redis, shards)
            found = [
                Stream(state.name, state.length, state.lag, state.pending, round(state.oldest, 3)) for state in states
            ]
            heard = sorted(alive(states, _GONE).items())
            workers = [Worker(*worker) for worker in heard if worker[1] < ALIVE]
            silent = [Worker(*worker) for worker in heard if worker[1] >= ALIVE]
    (trouble,) = await _TROUBLE.rows()
    return Status(
        unrelayed=Unrelayed(*trouble[:2]),
        deliveries=dict.fromkeys(counted_states, 0) | {row["state"]: row["count"] for row in counted},
        overdue=Overdue(*trouble[2:4]),
        behind=[OverdueEndpoint(*row) for row in await _BEHIND.rows(limit=_LISTED)],
        paused_endpoints=trouble["paused"],
        dead_letters=trouble["dead"],
        set_aside=trouble["set_aside"],
        streams=found,
        workers=workers,
        silent_workers=silent,
        jobs=await jobs.summaries(),
        background_seconds=await jobs.unattended(),
    )


def alive(states: Sequence[StreamState], within: float = ALIVE) -> dict[str, float]:
    """Return the workers that asked for work within so many seconds, and how long ago each did."""
    names = {name for state in states for name in state.consumers}
    idle = {name: min(state.consumers.get(name, within) for state in states) for name in names}
    return {name: seconds for name, seconds in idle.items() if seconds < within}
