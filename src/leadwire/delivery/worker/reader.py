"""What a worker gets from the streams: new entries, and now and then those that another worker has dropped."""

import asyncio
import logging
import time
from collections.abc import Mapping, Sequence
from typing import Final

from redis.asyncio import Redis
from redis.exceptions import ResponseError

from leadwire.delivery import metrics, streams
from leadwire.delivery.streams import Entry, Key
from leadwire.delivery.worker.quarantine import set_aside
from leadwire.delivery.worker.returns import Returns, log_failed
from leadwire.infrastructure import telemetry
from leadwire.infrastructure.batches import apart
from leadwire.infrastructure.settings import Settings

_BATCH: Final = 100  # entries, of all shards; and some of the quick stream
_BLOCK_MS: Final = 1000
_BLOCK_BUSY_MS: Final = 5
_BUSY: Final = 0.01  # seconds that everything else in the event loop takes
_RECLAIM_EVERY: Final = 5.0
_MARGIN: Final = 5.0  # seconds after the lease: a claim comes later than the read from which Redis counts


class Reader:
    """Reads for `consumer`. `held` are the entries that it is at work on."""

    def __init__(
        self, redis: Redis, consumer: str, settings: Settings, held: Mapping[Key, Entry], returns: Returns
    ) -> None:
        self._redis, self._consumer, self._held, self._returns = redis, consumer, held, returns
        self._shards = settings.stream_shards
        self._idle_ms = int((settings.lease + _MARGIN) * 1000)
        self._reclaimed = float("-inf")
        self._turns = 0

    async def read(self) -> list[Entry]:
        """Return entries of deliveries of which none is held. An entry too many of one is acknowledged.

        More than there are slots: what is in front may be of endpoints that get none.
        """
        try:
            entries = await self._reclaim() or await self._new()
        except ResponseError as error:
            if not str(error).startswith("NOGROUP"):
                raise
            await streams.prepare(self._redis, self._shards)  # a new or a flushed Redis
            return []
        kept, twins = dict[Key, Entry](), list[Entry]()
        for entry in entries:
            other = self._held.get(entry.key) or kept.setdefault(entry.key, entry)
            if other != entry:
                twins.append(entry)
        await self._returns.acknowledge(twins)
        return list(kept.values())

    async def _new(self) -> list[Entry]:
        busy = await self._is_busy()
        count, block_ms = max(1, _BATCH // self._shards), _BLOCK_BUSY_MS if busy else _BLOCK_MS
        return await streams.read(self._redis, self._consumer, self._shards, count, block_ms, quick_only=busy)

    async def _reclaim(self) -> list[Entry]:
        now = asyncio.get_running_loop().time()
        if now - self._reclaimed <= _RECLAIM_EVERY:
            return []
        self._reclaimed = now
        ours = {(entry.stream, entry.id) for entry in self._held.values()}
        count = max(1, _BATCH // self._shards)
        taken, poison, soon = await streams.reclaim(
            self._redis, self._consumer, self._shards, self._idle_ms, count, ours
        )
        if soon:
            self._reclaimed = float("-inf")
        log_failed(await apart(poison, self._set_aside))
        if taken:
            metrics.RECLAIMED.inc(len(taken))
            telemetry.log("stream.reclaimed", level=logging.WARNING, entries=len(taken))
        return taken

    async def _set_aside(self, entries: Sequence[Entry]) -> None:
        await set_aside(entries)
        await streams.done(self._redis, entries)

    async def _is_busy(self) -> bool:
        """Whether the event loop is behind, so that only quick deliveries are begun; the others each fourth time."""
        self._turns += 1
        start = time.perf_counter()
        await asyncio.sleep(0)
        return time.perf_counter() - start > _BUSY and self._turns % 4 > 0
