"""What a worker gets from the streams: new entries, and now and then those that another worker has dropped."""

import asyncio
import contextlib
import time
from collections.abc import Callable, Sequence
from typing import Final

from redis.asyncio import Redis
from redis.exceptions import ResponseError

from leadwire.delivery import metrics, streams
from leadwire.delivery.streams import Entry, consumers
from leadwire.delivery.worker.claim import release
from leadwire.delivery.worker.heartbeat import Heartbeat
from leadwire.delivery.worker.observe import Liveness
from leadwire.delivery.worker.quarantine import set_aside
from leadwire.delivery.worker.returns import log_failed
from leadwire.infrastructure import db, telemetry
from leadwire.infrastructure.batches import apart
from leadwire.infrastructure.settings import Settings

PAGE: Final = 1000
"""Entries that are read at once, of all shards."""
_RECLAIMED: Final = 100
_BLOCK_MS: Final = 1000
_PATIENCE: Final = 5.0  # seconds for the database


class Reader:
    """Reads for `consumer`. `ours` returns the entries that it is at work on, or that wait here."""

    def __init__(
        self, redis: Redis, consumer: str, settings: Settings, heartbeat: Heartbeat, liveness: Liveness,
        ours: Callable[[], list[Entry]],
    ) -> None:  # fmt: skip
        self._redis, self._consumer, self._ours = redis, consumer, ours
        self._heartbeat, self._liveness = heartbeat, liveness
        self._shards, self._lease = settings.stream_shards, settings.lease
        self._looked = self._looked_at_ours = float("-inf")
        self._silent: set[str] = set()
        self.gone: set[str] = set()
        """Workers that were silent for a lease when this one last looked, and the time before."""

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
        """Take over from workers that are gone, and what this one has dropped itself."""
        now = time.perf_counter()
        if now - self._looked < self._heartbeat.every:
            return []
        self._looked = now
        heard = await consumers.idle(self._redis, self._shards)
        silent = {name for name, seconds in heard.items() if seconds > self._lease and name != self._consumer}
        self.gone, self._silent = silent & self._silent, silent
        holders = self.gone if self._heartbeat.may_take_over(self._liveness.refused) else set()
        ours = self._ours()
        if now - self._looked_at_ours > self._lease:
            self._looked_at_ours = now
            holders = holders | {self._consumer}
            with contextlib.suppress(*db.TRANSIENT):  # the next lease tries again: reading must not wait for it
                async with asyncio.timeout(_PATIENCE):
                    await release([entry.key for entry in ours], self._consumer)
        if not holders:
            return []
        count, idle_ms = max(1, _RECLAIMED // self._shards), int(self._lease * 1000)
        taken, poison, soon = await consumers.reclaim(
            self._redis, self._consumer, self._shards, idle_ms, count, holders, {entry[:2] for entry in ours}
        )
        if soon:
            self._looked = self._looked_at_ours = float("-inf")
        log_failed(await apart(poison, self._set_aside))
        if taken:
            metrics.RECLAIMED.inc(len(taken))
            telemetry.warn("stream.reclaimed", entries=len(taken))
        return taken

    async def _set_aside(self, entries: Sequence[Entry]) -> None:
        await set_aside(entries, self._consumer, self.gone)
        await streams.done(self._redis, entries)
