"""What a worker gets from the streams: new entries, and now and then those that another worker has dropped."""

import asyncio
import logging
from collections.abc import Callable, Sequence
from typing import Final

from redis.asyncio import Redis
from redis.exceptions import ResponseError

from leadwire.delivery import metrics, streams
from leadwire.delivery.streams import Entry
from leadwire.delivery.worker.quarantine import set_aside
from leadwire.delivery.worker.returns import log_failed
from leadwire.infrastructure import telemetry
from leadwire.infrastructure.batches import apart
from leadwire.infrastructure.settings import Settings

PAGE: Final = 1000
"""Entries that are read at once, of all shards."""
_RECLAIMED: Final = 100
_BLOCK_MS: Final = 1000
_RECLAIM_EVERY: Final = 5.0
_MARGIN: Final = 5.0  # seconds after the lease: a claim comes later than the read from which Redis counts


class Reader:
    """Reads for `consumer`. `ours` returns the entries, stream and id, that it has."""

    def __init__(
        self, redis: Redis, consumer: str, settings: Settings, ours: Callable[[], set[tuple[bytes, bytes]]]
    ) -> None:
        self._redis, self._consumer, self._ours = redis, consumer, ours
        self._shards = settings.stream_shards
        self._idle_ms = int((settings.lease + _MARGIN) * 1000)
        self._reclaimed = float("-inf")

    async def read(self) -> list[Entry]:
        """Wait for entries, a second at most."""
        try:
            return await self._reclaim() or await streams.read(
                self._redis, self._consumer, self._shards, PAGE // self._shards, _BLOCK_MS
            )
        except ResponseError as error:
            if not str(error).startswith("NOGROUP"):
                raise
            await streams.prepare(self._redis, self._shards)  # a new or a flushed Redis
            return []

    async def _reclaim(self) -> list[Entry]:
        now = asyncio.get_running_loop().time()
        if now - self._reclaimed <= _RECLAIM_EVERY:
            return []
        self._reclaimed = now
        count = max(1, _RECLAIMED // self._shards)
        taken, poison, soon = await streams.reclaim(
            self._redis, self._consumer, self._shards, self._idle_ms, count, self._ours()
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
