"""The relay: loops that are independent of each other, so that nothing of one customer makes another wait.

Every loop can run in several processes at once.
"""

import asyncio
import time
from collections import defaultdict
from collections.abc import Sequence
from typing import Final

from redis.asyncio import Redis

from leadwire.delivery import epochs, metrics, pull, streams
from leadwire.delivery.endpoints.table import LARGEST_WINDOW
from leadwire.delivery.relay import partitions, reconcile
from leadwire.delivery.relay.admit import ALWAYS, admit, close_overfull
from leadwire.delivery.relay.fan_out import OutboxFront, fan_out
from leadwire.delivery.relay.queue_front import Front
from leadwire.delivery.streams import Key, push
from leadwire.infrastructure import db, telemetry
from leadwire.infrastructure.loop import Loop
from leadwire.infrastructure.redis_pool import AWAY
from leadwire.infrastructure.settings import Settings

_POLL: Final = 0.25  # seconds, when nothing wakes a loop
_POLL_BACKLOG: Final = 0.01  # while an endpoint's window is what holds deliveries back
_CLOSE_EVERY: Final = 1.0
_EXPIRE_EVERY: Final = 1.0
_SOON: Final = 20.0  # seconds: an admission looks at an endpoint again after 15, whatever it knows
_OVERFULL: Final = 2 * LARGEST_WINDOW
_MAINTAIN_EVERY: Final = 3600.0
_MAINTAIN_AGAIN: Final = 15.0  # after a lock that was not granted in time


class Relay:
    def __init__(self, redis: Redis, settings: Settings) -> None:
        self._redis = redis
        self._settings = settings
        self._living = reconcile.Living(settings.lease)
        self._after = ""
        self._outbox, self._due = OutboxFront(), Front(ALWAYS)
        self._woken: set[str] = set()  # endpoints that more waits for now
        self._close_at = float("-inf")
        self._refused: dict[str, list[Key]] = defaultdict(list)  # by loop, what it has queued and Redis has not taken
        runs = (self.fan_out, self.admit, self.expire, self.reconcile, self.maintain)
        self._loops = {run.__name__: Loop(run.__name__, run) for run in runs}

    async def run(self, stop: asyncio.Event) -> None:
        listening = asyncio.create_task(push.listen(self._wake, stop))
        await asyncio.gather(*(loop.run(stop) for loop in self._loops.values()))
        listening.cancel()
        await asyncio.wait([listening])

    def _wake(self) -> None:
        for name in ("fan_out", "admit"):
            self._loops[name].woken.set()

    async def fan_out(self) -> float:
        """Make the deliveries of events that were left to the relay."""
        await self._add("fan_out")
        began, batch = self._after, await fan_out(self._after, front=self._outbox, soon=_SOON)
        self._after = batch.after
        self._woken |= batch.endpoints
        if batch.waiting:
            self._loops["admit"].woken.set()
        if batch.events:
            telemetry.log("batch.relayed", events=batch.events, queued=len(batch.keys), waiting=batch.waiting)
        await self._add("fan_out", batch.keys)
        if len(batch.keys) > LARGEST_WINDOW:  # one endpoint may have too many now
            await close_overfull(_OVERFULL)
        return 0.0 if batch.events or began else _POLL  # the workspaces before `began` may have some

    async def admit(self) -> float:
        """Queue what is due; now and then look for endpoints that too much is queued for."""
        if (began := time.monotonic()) > self._close_at:
            if await self._may_be_overfull():
                await close_overfull(_OVERFULL)
            ended = time.monotonic()
            self._close_at = ended + max(_CLOSE_EVERY, 20 * (ended - began))  # it reads what was queued before, too
        await self._add("admit")
        admitted = await admit(front=self._due, woken=self._woken)
        if admitted:
            telemetry.log("batch.admitted", deliveries=len(admitted))
        await self._add("admit", admitted)
        return _POLL_BACKLOG if admitted else _POLL

    async def _may_be_overfull(self) -> bool:
        """Whether the streams have as many entries as an overfull endpoint alone would, or that cannot be told."""
        try:
            return await streams.length(self._redis, self._settings.stream_shards) > _OVERFULL
        except AWAY:
            return True

    async def _add(self, by: str, keys: Sequence[Key] = ()) -> None:
        """Put what a loop has queued into the streams, with what was refused before: it queues no more until then.

        Raise what Redis raises.
        """
        self._refused[by] += keys
        if refused := self._refused[by]:
            await streams.add(self._redis, refused, self._settings.stream_shards)
            metrics.ADDED.labels(by).inc(len(refused))
            del self._refused[by]

    async def expire(self) -> float:
        """Count what receivers have fetched and not acknowledged in time as failed attempts."""
        expired = await pull.expire(self._settings)
        if expired:
            telemetry.log("batch.expired", deliveries=expired)
        return 0.0 if expired == pull.BATCH else _EXPIRE_EVERY

    async def reconcile(self) -> float:
        """Add to the streams again what Redis lost; note whether PostgreSQL has become another server."""
        await epochs.note()
        await self._add("reconcile")
        lost = await reconcile.reconcile(
            self._redis, self._settings.stream_shards, self._settings.reconcile_after, self._living
        )
        if lost:
            metrics.RECONCILED.inc(len(lost))
            telemetry.warn("stream.reconciled", deliveries=len(lost))
            await self._add("reconcile", lost)
        return 0.0 if len(lost) == reconcile.BATCH else self._settings.reconcile_after / 3

    async def maintain(self) -> float:
        """Make days ahead, drop old ones. An hour late does no harm; a relay that waits for locks would."""
        try:
            with db.acting_as("maintenance"):
                created, dropped = await partitions.maintain(self._settings.retention_days)
        except db.Locked as error:
            telemetry.warn("partitions.failed", error=error)
            return _MAINTAIN_AGAIN
        if created or dropped:
            telemetry.log(
                "partitions.maintained", made=[str(day) for day in created], dropped=[str(day) for day in dropped]
            )
        return _MAINTAIN_EVERY
