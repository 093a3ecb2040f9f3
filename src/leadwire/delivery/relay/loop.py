"""The relay: wake, batch out, admit, add to the streams; now and then reconcile, and maintain the partitions.

Everything it does can be done twice or by several at once. It never gives up: whatever fails is logged and tried
again, after a backoff that grows to 5 s.
"""

import asyncio
import contextlib
import logging
import time
from collections.abc import Sequence
from typing import Final

from redis.asyncio import Redis

from leadwire.delivery import metrics, streams, wakeup
from leadwire.delivery.redrive import changes as redrive
from leadwire.delivery.relay.admit import admit
from leadwire.delivery.relay.fan_out import fan_out
from leadwire.delivery.relay.partitions import maintain
from leadwire.delivery.relay.reconcile import reconcile
from leadwire.delivery.streams import Key
from leadwire.infrastructure import db, telemetry
from leadwire.infrastructure.backoff import Backoff, either
from leadwire.infrastructure.redis_pool import NotPrimary
from leadwire.infrastructure.settings import Settings

_POLL: Final = 0.25  # seconds, when nothing wakes it
_POLL_BACKLOG: Final = 0.01  # seconds, while a window is what holds deliveries back
_REDRIVE_EVERY: Final = 0.2
_MAINTAIN_EVERY: Final = 3600.0
_MAINTAIN_AGAIN: Final = 15.0  # after a lock that was not granted in time
_STUCK: Final = 120.0  # seconds


class Relay:
    """One relay process's work."""

    def __init__(self, redis: Redis, settings: Settings) -> None:
        self._redis = redis
        self._settings = settings
        self._reconcile_every = settings.reconcile_after / 3
        # Seconds after which a commit's keys are left to reconcile, or they would be added twice.
        self._stale = settings.reconcile_after / 2
        self._woken = asyncio.Event()
        self._after = ""
        self._turned = time.monotonic()
        self._reconciled = self._redriven = self._maintain_at = float("-inf")

    async def run(self, stop: asyncio.Event) -> None:
        """Relay until `stop` is set; what is in hand is finished first."""
        listening = asyncio.create_task(self._listen(stop))
        pause = Backoff()
        while not stop.is_set():
            turned, self._turned = self._turned, time.monotonic()
            try:
                wait = await self.step()
                pause.reset()
            except Exception as error:  # noqa: BLE001 - asyncpg and redis-py raise more than they document
                if isinstance(error, NotPrimary):  # connecting again did not help: a restart may
                    self._turned = turned
                metrics.FAILED.cell("relay").add()
                telemetry.log("relay.failed", level=logging.WARNING, error=error)
                wait = pause.next()
            if wait:
                await either(stop, self._woken, wait)
            self._woken.clear()
        listening.cancel()
        with contextlib.suppress(asyncio.CancelledError):
            await listening

    def stuck(self) -> str | None:
        """Why only a restart would help: the loop has not turned for far longer than anything it waits for."""
        idle = time.monotonic() - self._turned
        return f"the relay has not turned for {idle:.0f} s" if idle > self._stale + _STUCK else None

    async def step(self) -> float:
        """Do one round. Return the seconds to wait for a wake-up before the next."""
        loop = asyncio.get_running_loop()
        if loop.time() > self._maintain_at:
            self._maintain_at = loop.time() + (
                _MAINTAIN_EVERY if await self._maintain_partitions() else _MAINTAIN_AGAIN
            )
        if loop.time() - self._reconciled > self._reconcile_every:
            await self._reconcile()
            self._reconciled = loop.time()
        batch = await fan_out(self._after)
        began, self._after = self._after, batch.after
        metrics.ADDED.cell("fan_out").add(len(batch.keys))
        await self._add(batch.keys)
        admitted = await admit()
        metrics.ADDED.cell("admit").add(len(admitted))
        await self._add(admitted)
        if loop.time() - self._redriven > _REDRIVE_EVERY:
            self._redriven = loop.time()
            if redriven := await redrive.step():
                metrics.REDRIVEN.cell().add(redriven)
                telemetry.log("batch.redriven", deliveries=redriven)
        if batch.events or admitted:
            telemetry.log("batch.relayed", events=batch.events, queued=len(batch.keys), admitted=len(admitted))
            return _POLL_BACKLOG if batch.held_back or admitted else 0.0
        return 0.0 if began else _POLL  # the workspaces before that one may have some

    async def _add(self, keys: Sequence[Key]) -> None:
        """Put committed keys into the streams, trying for as long as reconcile cannot have taken them for lost."""
        if not keys:
            return
        loop = asyncio.get_running_loop()
        start, pause = loop.time(), Backoff()
        while loop.time() - start < self._stale:
            try:
                await streams.add(self._redis, keys, self._settings.stream_shards)
                return
            except Exception as error:  # noqa: BLE001 - as above
                metrics.FAILED.cell("add").add()
                telemetry.log("stream.unreachable", level=logging.WARNING, error=error, keys=len(keys))
                await asyncio.sleep(pause.next())
        telemetry.log("stream.left_to_reconcile", level=logging.WARNING, keys=len(keys))

    async def _reconcile(self) -> None:
        states = await streams.states(self._redis, self._settings.stream_shards)
        lost = await reconcile(states, self._settings.reconcile_after)
        if lost:
            metrics.RECONCILED.cell().add(lost)
            telemetry.log("stream.reconciled", level=logging.WARNING, deliveries=lost)

    async def _maintain_partitions(self) -> bool:
        """Make days ahead, drop old ones. Return whether that went well.

        It does no harm when it is an hour late; a relay that waits for locks would.
        """
        try:
            with db.acting_as("maintenance"):
                made, dropped = await maintain(self._settings.retention_days)
        except Exception as error:  # noqa: BLE001 - a lock not had in time, most likely
            telemetry.log("partitions.failed", level=logging.WARNING, error=error)
            return False
        if made or dropped:
            telemetry.log(
                "partitions.maintained", made=[str(day) for day in made], dropped=[str(day) for day in dropped]
            )
        return True

    async def _listen(self, stop: asyncio.Event) -> None:
        """Wake when another process says so. To miss some does no harm: there is the poll."""
        pause = Backoff()
        while not stop.is_set():
            try:
                async with self._redis.pubsub(ignore_subscribe_messages=True) as subscription:
                    await subscription.subscribe(wakeup.CHANNEL)
                    pause.reset()
                    while True:
                        if await subscription.get_message(timeout=5.0):
                            self._woken.set()
            except Exception:  # noqa: BLE001 - the poll is the backstop
                await asyncio.sleep(pause.next())
