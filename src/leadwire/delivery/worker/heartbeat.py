"""A worker says every few seconds that it lives, and knows from when to when nobody takes over what it has claimed.

Others take over from a worker that has been silent for a lease. So a POST may begin while the last beat is so recent
that it ends before, and only of what was claimed since the worker was last silent for too long: it may have been
suspended, or cut off from Redis. Such a worker takes nothing over from others for a while, as they may have been away
with it; nor does one whose database was away.
"""

import asyncio
import time
from collections.abc import Callable
from typing import Final

from redis.asyncio import Redis
from redis.exceptions import ResponseError

from leadwire.delivery import streams
from leadwire.delivery.streams import consumers
from leadwire.infrastructure import telemetry
from leadwire.infrastructure.loop import Rounds
from leadwire.infrastructure.settings import Settings

_SHORTEST: Final = 0.01  # seconds between beats


class Heartbeat:
    """The beats of one consumer. It begins alive: nobody knows of it."""

    def __init__(self, redis: Redis, consumer: str, settings: Settings) -> None:
        self._redis, self._consumer, self._shards = redis, consumer, settings.stream_shards
        self._holds = settings.lease - settings.delivery_timeout
        self._calm = settings.lease / 4
        self.every = max(_SHORTEST, min(settings.lease / 12, self._holds / 3))
        self._since = self._last = time.perf_counter()

    async def run(self, stuck: Callable[[], str | None]) -> None:
        """Beat until canceled, unless the worker is stuck: then it is to be taken for gone."""
        with Rounds("heartbeat") as rounds:
            while True:
                rounds.began()
                if not stuck():
                    try:
                        await self.beat()
                    except Exception as error:  # noqa: BLE001 - redis-py raises more than it documents
                        telemetry.warn("heartbeat.failed", error=error)
                await asyncio.sleep(self.every)

    async def beat(self) -> None:
        """Say once that the worker lives. Raise what Redis raises."""
        sent = time.perf_counter()
        try:
            await consumers.beat(self._redis, self._consumer, self._shards)
        except ResponseError as error:
            if not str(error).startswith("NOGROUP"):
                raise
            await streams.prepare(self._redis, self._shards)
            return
        if sent - self._last > self._holds:
            self._since = sent
        self._last = sent

    def covers(self, asked: float) -> bool:
        """Whether what a claim sent at `asked` has taken is this worker's until a POST that begins now has ended."""
        return asked >= self._since and time.perf_counter() < self._last + self._holds

    def may_take_over(self, refused: float) -> bool:
        """Whether this worker has been in touch with Redis, and since `refused` with its database, for long enough."""
        now = time.perf_counter()
        return now - max(self._since, refused) >= self._calm and now - self._last < self._calm + self.every
