"""Gauges of what waits where, looked up in the servers by one process: alerts rest on them.

What is unfinished has tables of its own, so it costs the same however much is finished; counts
stop at `CAPPED`, because beyond it the exact number makes no difference.
"""

import asyncio
import contextlib
from typing import Any, Final

from redis.asyncio import Redis

from leadwire.delivery import streams
from leadwire.delivery.monitoring import holders, status
from leadwire.infrastructure import db, redis_pool
from leadwire.infrastructure.db.statements import load
from leadwire.infrastructure.redis_pool import AWAY
from leadwire.infrastructure.telemetry.metrics import LookedUp

CAPPED: Final = 10_000  # in gauges.sql, too

UNRELAYED: Final = LookedUp("unrelayed_events", f"Committed events that are not relayed yet; counted up to {CAPPED}.")
UNRELAYED_OLDEST: Final = LookedUp("unrelayed_oldest_seconds", "Age of the oldest of them.")
WAITING: Final = LookedUp("deliveries_waiting", f"Deliveries that wait until they are due; counted up to {CAPPED}.")
QUEUED: Final = LookedUp("deliveries_queued", f"Deliveries in a stream or held by a worker; counted up to {CAPPED}.")
OVERDUE: Final = LookedUp(
    "waiting_overdue",
    "Deliveries past their due time. held_by nothing: the relay should have queued them. held_by endpoint: their"
    " endpoint's window is full, its receiver asked for a pause or fetches by itself, it has an order or a rate, or its"
    f" host is new. Counted up to {CAPPED} for each endpoint.",
    "held_by",
)
OVERDUE_OLDEST: Final = LookedUp("waiting_overdue_oldest_seconds", "Time since the oldest of them was due.", "held_by")
DEAD: Final = LookedUp("dead_letters", f"Current dead letters; counted up to {CAPPED}.")
QUARANTINED: Final = LookedUp(
    "deliveries_aside",
    "Deliveries that are set aside because they crashed several workers, and events that no relay can relay.",
)
SATURATED: Final = LookedUp("windows_saturated", "Endpoints with as many queued deliveries as their window allows.")
NEW_HOSTS: Final = LookedUp("endpoints_new_host", "Enabled endpoints whose host has not answered with a 2xx yet.")
LENGTH: Final = LookedUp("stream_length", "Entries of a stream.", "shard")
LAG: Final = LookedUp("stream_lag", "Entries that no worker has read.", "shard")
PENDING: Final = LookedUp("stream_pending", "Entries read and not acknowledged.", "shard")
OLDEST: Final = LookedUp("stream_oldest_seconds", "Age of the oldest entry that no worker has read.", "shard")
IDLE: Final = LookedUp(
    "stream_pending_idle_seconds", "Longest time a worker that is silent has held an entry.", "shard"
)
OVERHELD: Final = LookedUp(
    "stream_pending_overdue_seconds", "Longest time that such a worker has held an entry past its lease.", "shard"
)
WORKERS: Final = LookedUp("workers", f"Workers that asked for work within {status.ALIVE:.0f} s.")
REDIS_UP: Final = LookedUp("redis_up", "1 when Redis takes what the observer writes, 0 when not.")
DATABASE_UP: Final = LookedUp("database_up", "1 when PostgreSQL answers the observer, 0 when not.")

_OF_STREAMS: Final = {LENGTH: "length", LAG: "lag", PENDING: "pending", OLDEST: "unread", IDLE: "held"}
_COUNTED: Final = {
    UNRELAYED: "unrelayed", WAITING: "waiting", QUEUED: "queued", DEAD: "dead", QUARANTINED: "aside",
    NEW_HOSTS: "new_hosts",
}  # fmt: skip

STATEMENTS: Final = load(__file__)


async def update(redis: Redis, shards: int, lease: float) -> None:
    """Look everything up and show it. Raise what the database raises; that Redis is away or full is shown.

    `lease`: seconds of silence after which a worker's entries are taken over.
    """
    await _ledger()
    await holders.update()
    up = 0
    try:
        async with asyncio.timeout(status.PATIENCE):
            await _streams(redis, shards, lease)
    except AWAY:
        for gauge in (*_OF_STREAMS, OVERHELD, WORKERS):
            gauge.show_all({})
    else:
        with contextlib.suppress(*AWAY):
            await redis_pool.check_writes(redis)
            up = 1
    REDIS_UP.show(up)


async def _ledger() -> None:
    async with db.transaction():
        await db.rows("SET LOCAL enable_seqscan = off")  # whatever the statistics say: no table is read whole
        await db.rows("SET LOCAL statement_timeout = '2s'")  # all, and those of `holders`, within the observer's limit
        values: dict[str, Any] = {name: await statement.rows() for name, statement in STATEMENTS.items()}
    DATABASE_UP.show(1)
    (counts,) = values["counts"]
    for gauge, name in _COUNTED.items():
        gauge.show(counts[name])
    UNRELAYED_OLDEST.show(max(counts["oldest"] or 0.0, 0.0))
    none = {("nothing",): 0, ("endpoint",): 0}
    for gauge, name in ((OVERDUE, "count"), (OVERDUE_OLDEST, "oldest")):
        gauge.show_all(none | {("endpoint" if row["held"] else "nothing",): row[name] for row in values["overdue"]})
    SATURATED.show(values["saturated"][0]["count"])


async def _streams(redis: Redis, shards: int, lease: float) -> None:
    states = await streams.states(redis, shards)
    for gauge, name in _OF_STREAMS.items():
        gauge.show_all({(str(shard),): getattr(state, name) for shard, state in enumerate(states)})
    OVERHELD.show_all({(str(shard),): max(state.held - lease, 0.0) for shard, state in enumerate(states)})
    WORKERS.show(len(status.alive(states)))
