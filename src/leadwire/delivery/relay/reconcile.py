"""What Redis lost is added to the streams again: this is what makes Redis disposable.

Finished entries are deleted, so the oldest entry that nobody has read is a watermark: a delivery queued well before it
has no entry any more, or one that was read and is not finished, and these can be counted. It raises no false alarm
under a backlog (the watermark is old then, too), and heals a flush, a failover that lost its last second, an eviction,
a process that died between commit and XADD. An entry too many does no harm: one worker at a time can claim a delivery.
"""

import time
from collections.abc import Sequence
from typing import Any, Final

from redis.asyncio import Redis

from leadwire.delivery import streams
from leadwire.delivery.streams import Key, StreamState
from leadwire.infrastructure import batches, db
from leadwire.infrastructure.db.statements import lists, sql
from leadwire.infrastructure.failing import Failing

BATCH: Final = 2000  # deliveries
_OVERDUE: Final = 600.0  # seconds after the end of a lease
_GAP: Final = 60.0  # seconds between two looks after which it is not known who was heard of in between

# The database's time, to be taken before the streams are read: then a pause between the two makes nothing look lost.
_NOW: Final = sql("SELECT now()")
# Queued deliveries that neither a worker nor a receiver (`pull`) holds, of which no entry was read, and that are older
# than the oldest unread entries of both streams in which they may be, by more than the slack.
_LOST: Final = """FROM delivery d JOIN unnest(:shards::int[], :ages::float8[]) AS stream(shard, age)
    ON ('x' || substr(md5(d.endpoint_id), 1, 4))::bit(16)::int % :count = stream.shard
WHERE d.state = 'queued'
  AND d.queued_at < :now::timestamptz - (greatest(stream.age, :quick) + :slack) * interval '1 second'
  AND (d.owner IS NULL OR d.lease_until < now() - :grace * interval '1 second' AND CASE WHEN d.owner LIKE 'pull:%'
    THEN NOT EXISTS (SELECT 1 FROM webhook_endpoint e WHERE e.id = d.endpoint_id)
    ELSE d.owner <> ALL(:alive::text[]) END)
  AND d.event_id || d.endpoint_id || d.attempts NOT IN (SELECT unnest(:pending::text[]))"""
_LOCK: Final = sql(f"""
SELECT d.event_id, d.endpoint_id, d.attempts {_LOST} AND NOT d.endpoint_id = ANY(:resting::text[])
LIMIT :batch FOR UPDATE OF d SKIP LOCKED""")
# They count as queued from now on, and are nobody's.
_RECONCILE: Final = sql("""
UPDATE delivery d SET queued_at = now(), owner = NULL, lease_until = NULL
FROM unnest(:events::text[], :endpoints::text[]) AS lost (event_id, endpoint_id)
WHERE d.event_id = ANY(:events::text[]) AND d.event_id = lost.event_id AND d.endpoint_id = lost.endpoint_id""")
_COUNT: Final = sql(f"SELECT count(*) {_LOST}")
_failing: Final = Failing("reconcile")


class Living:
    """Which workers live, as one process sees them in Redis."""

    def __init__(self, lease: float) -> None:
        self._lease = lease
        self._heard: dict[str, float] = {}  # when it was that each was heard of, by `time.monotonic`
        self._since = self._looked = float("-inf")

    def look(self, streams: Sequence[StreamState]) -> list[str] | None:
        """Return those that were heard of within a lease, or None before that can be told: Redis may have been away, or
        this process, or it may have forgotten them.
        """
        now = time.monotonic()
        if now - self._looked > max(self._lease, _GAP):
            self._since = now
        self._looked = now
        for stream in streams:
            for name, seconds in stream.consumers.items():
                self._heard[name] = max(now - seconds, self._heard.get(name, now - seconds))
        self._heard = {name: at for name, at in self._heard.items() if now - at < self._lease}
        return list(self._heard) if now - self._since >= self._lease else None


async def reconcile(redis: Redis, shards: int, slack: float, living: Living) -> list[Key]:
    """Take lost deliveries as queued now. Return their keys, `BATCH` at the most.

    `slack`: the seconds that a delivery may take from being queued to being in its stream. One whose row cannot be
    written is left as it is, and its endpoint rests.
    """
    taken: list[Key] = []

    async def take(lost: Sequence[Key]) -> None:
        await _RECONCILE.rows(**lists("events endpoints", [key[:2] for key in lost]))
        taken.extend(lost)

    look = await _read(redis, shards, slack)
    alive = living.look(look.pop("streams"))
    async with db.transaction():
        rows = await _LOCK.rows(**look, alive=alive, grace=0.0, batch=BATCH, resting=_failing.resting())
        failed = await batches.undone([Key(*row) for row in rows], take)
    _failing.succeeded({key.endpoint_id for key in taken})
    _failing.all_failed({key.endpoint_id: error for key, error in failed}.items())
    return taken


async def count_lost(redis: Redis, shards: int, slack: float) -> int:
    """Return how many `reconcile` would add again, if it went on to the end; of what a worker has claimed only what it
    should have recorded or given up long ago.
    """
    look = await _read(redis, shards, slack)
    del look["streams"]
    return int(await _COUNT.value(**look, alive=[], grace=_OVERDUE))


async def _read(redis: Redis, shards: int, slack: float) -> dict[str, Any]:
    """What the streams hold."""
    now = await _NOW.value()
    quick, *others = found = await streams.states(redis, shards)
    pending = ["".join(map(str, key)) for key in await streams.pending(redis, found)]
    ages = {"quick": quick.unread, "shards": list(range(shards)), "ages": [stream.unread for stream in others]}
    return {"streams": found, "now": now, "slack": slack, "pending": pending, "count": shards, **ages}
