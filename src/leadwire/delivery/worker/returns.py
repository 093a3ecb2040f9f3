"""Entries that are not sent now: stale ones are acknowledged, locked ones added again, and others wait in the database.

Each that fails alone stays pending: it is taken over after the lease, and set aside in the end (`quarantine`).
"""

import asyncio
import functools
from collections.abc import Collection, Mapping, Sequence
from typing import Final

from redis.asyncio import Redis

from leadwire.delivery import metrics, streams
from leadwire.delivery.streams import Entry
from leadwire.delivery.worker.claim import locked, put_back
from leadwire.delivery.worker.observe import Liveness
from leadwire.delivery.worker.recorder import persist
from leadwire.infrastructure import db, telemetry
from leadwire.infrastructure.backoff import rest
from leadwire.infrastructure.batches import apart

_LOCKED_FOR: Final = 1.0  # seconds
_AGAIN_AFTER: Final = 0.2
_PAGE: Final = 500  # entries


class Returns:
    """What `consumer` has read and does not send."""

    def __init__(self, redis: Redis, consumer: str, shards: int, liveness: Liveness) -> None:
        self._redis, self._consumer, self._shards, self._liveness = redis, consumer, shards, liveness
        self._one = asyncio.Lock()
        self.waiting = set[Entry]()

    async def acknowledge(self, entries: Sequence[Entry]) -> None:
        """Take stale entries out of the streams."""
        if entries:
            metrics.STALE.inc(len(entries))
            telemetry.log("stream.stale", entries=len(entries))
            await streams.done(self._redis, entries)

    async def unclaimed(self, entries: Sequence[Entry], gone: Collection[str], stop: asyncio.Event) -> None:
        """Acknowledge what no claim was for. What somebody has only locked is added again, and read again soon."""

        async def work(part: Sequence[Entry]) -> None:
            keys = await persist(functools.partial(locked, part, self._consumer, gone), self._liveness, stop)
            if keys is not None:
                again.extend(entry for entry in part if entry.key in keys)
                await self.acknowledge([entry for entry in part if entry.key not in keys])

        again: list[Entry] = []
        log_failed(await apart(entries, work))
        if again:
            await rest(_AGAIN_AFTER, stop)
            await self.add_again(again)

    async def add_again(self, entries: Sequence[Entry]) -> None:
        """Let entries be read again, by whichever worker."""
        for start in range(0, len(entries), _PAGE):
            page = entries[start : start + _PAGE]
            await streams.add(self._redis, [entry.key for entry in page], self._shards)
            await streams.done(self._redis, page)

    async def wait(
        self, entries: Sequence[Entry], limits: Mapping[str, tuple[int, float]], stop: asyncio.Event
    ) -> None:
        """Let deliveries wait in the database, one batch after the other: claims need the connections more. Until then,
        or `stop`, they are in `waiting`, however long somebody has locked their endpoint.
        """

        async def work(part: Sequence[Entry]) -> None:
            keys = [entry.key for entry in part]
            if await persist(functools.partial(put_back, keys, self._consumer, limits), self._liveness, stop):
                await streams.done(self._redis, part)

        self.waiting.update(entries)
        left = entries
        try:
            while True:
                async with self._one:
                    failed = await apart(left, work)
                log_failed([(entry, error) for entry, error in failed if not isinstance(error, db.Locked)])
                left = [entry for entry, error in failed if isinstance(error, db.Locked)]
                if not left or stop.is_set():
                    return
                await rest(_LOCKED_FOR, stop)
        finally:
            self.waiting.difference_update(entries)


def log_failed(failed: Sequence[tuple[Entry, Exception]]) -> None:
    for entry, error in failed:
        event_id, endpoint_id, _ = entry.key
        metrics.FAILED.labels("deliver").inc()
        telemetry.fail("stream.entry_failed", error=error, event_id=event_id, endpoint_id=endpoint_id)
