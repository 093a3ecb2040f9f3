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
from leadwire.infrastructure.db.statements import lists, named
from leadwire.infrastructure.loop import Failing

BATCH: Final = 2000  # deliveries
_OVERDUE: Final = 600.0  # seconds after the end of a lease
_GAP: Final = 60.0  # seconds between two looks after which it is not known who was heard of in between

_NOW, _LOCK, _RECONCILE, _COUNT = named(__file__, "now lock reconcile count")
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
    now = await _NOW.value()
    states = await streams.states(redis, shards)
    pending = ["".join(map(str, key)) for key in await streams.pending(redis, states)]
    ages = {"shards": list(range(shards)), "ages": [stream.unread for stream in states]}
    return {"streams": states, "now": now, "slack": slack, "pending": pending, "count": shards, **ages}
