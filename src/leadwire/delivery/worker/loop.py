"""The worker: reads only what it can hold, acknowledges only what is recorded, and finishes what it has begun.

A crash anywhere before `record` leaves the entry pending, and another worker takes it over when the lease has ended: a
second POST with the same `webhook-id` is possible, a loss is not. After `record` the entry is stale and is only
acknowledged.
"""

import asyncio
import functools
import logging
import os
import secrets
import socket
import time
from collections.abc import Coroutine, Sequence
from typing import Any, Final

from redis.asyncio import Redis

from leadwire.delivery import metrics, streams
from leadwire.delivery.streams import Entry, Key
from leadwire.delivery.transport.guarded import GuardedTransport
from leadwire.delivery.worker.attempt import ClaimedDelivery, attempt
from leadwire.delivery.worker.claim import claim
from leadwire.delivery.worker.number import Numbering
from leadwire.delivery.worker.observe import Liveness
from leadwire.delivery.worker.reader import Reader
from leadwire.delivery.worker.recorder import Recorder, persist
from leadwire.delivery.worker.returns import Returns, log_failed
from leadwire.delivery.worker.slots import SLOW_AFTER, SLOW_FACTOR, Slot, Slots
from leadwire.infrastructure import db, telemetry
from leadwire.infrastructure.backoff import Backoff
from leadwire.infrastructure.batches import apart
from leadwire.infrastructure.redis_pool import AWAY, NotPrimary
from leadwire.infrastructure.settings import Settings

_GATHER: Final = 0.004  # seconds in which several free slots come together for one claim
_PUT_BACK_FOR: Final = 0.2  # seconds
_UNREADABLE_FOR: Final = 60.0


class Deliverer:
    """One worker process's work."""

    def __init__(self, redis: Redis, transport: GuardedTransport, settings: Settings) -> None:
        self._redis = redis
        self._transport = transport
        self._settings = settings
        self._shards = settings.stream_shards
        self.consumer = f"{socket.gethostname()}-{os.getpid()}-{secrets.token_hex(3)}"
        self._held: dict[Key, Entry] = {}  # from claim to record: the database may be away past the lease
        self._posts: set[asyncio.Task[None]] = set()
        self._aside: set[asyncio.Task[None]] = set()  # what is being put back
        self._slots = Slots(settings.delivery_concurrency)
        self._room = asyncio.Event()
        self._liveness = Liveness(settings.delivery_timeout)
        self._recorder = Recorder(redis, self.consumer, self._held, self._liveness)
        self._returns = Returns(redis, self.consumer, self._shards, self._liveness)
        self._reader = Reader(redis, self.consumer, settings, self._held, self._returns)
        self._numbering = Numbering(self.consumer, self._liveness)
        metrics.IN_HAND.follow(lambda: len(self._posts))
        metrics.SLOTS.show(settings.delivery_concurrency * (1 + SLOW_FACTOR))

    async def run(self, stop: asyncio.Event) -> None:
        """Deliver until `stop` is set, then finish what is in hand: at most one delivery timeout, and one to record."""
        recording = asyncio.create_task(self._recorder.run())
        await self._leave()  # takes off the names of workers that were killed
        pause = Backoff()
        while not stop.is_set():
            try:
                if self._slots.free <= 0:
                    self._room.clear()
                    await self._room.wait()
                    await asyncio.sleep(_GATHER)
                await self._start(await self._reader.read(), stop)
                pause.reset()
                self._liveness.turned()
                self._liveness.streams_answered(replica=False)
            except Exception as error:  # noqa: BLE001 - asyncpg and redis-py raise more than they document
                self._liveness.streams_answered(replica=isinstance(error, NotPrimary))
                if isinstance(error, (*AWAY, *db.TRANSIENT)):
                    self._liveness.turned()
                metrics.FAILED.labels("deliver").inc()
                telemetry.log("deliver.failed", level=logging.WARNING, error=error)
                await asyncio.sleep(pause.next())
        while running := self._posts | self._aside:
            await asyncio.wait(running)
        self._recorder.end()
        try:
            await asyncio.wait_for(recording, self._settings.delivery_timeout)
        except TimeoutError:  # the database is away: the entries stay pending for whoever takes them over
            telemetry.log("deliver.not_recorded", level=logging.WARNING, entries=len(self._held))
        await self._leave()

    def stuck(self) -> str | None:
        """Why only a restart would help, or None."""
        return self._liveness.stuck(len(self._posts), len(self._held) - len(self._posts))

    async def _leave(self) -> None:
        try:
            await streams.leave(self._redis, self.consumer, self._shards)
        except Exception as error:  # noqa: BLE001 - an idle name in a group does no harm
            telemetry.log("deliver.not_left", level=logging.WARNING, error=error)

    async def _start(self, entries: Sequence[Entry], stop: asyncio.Event) -> None:
        """Claim, and begin a POST for each job. Entries are kept until the database has answered."""
        quick = streams.names(self._shards)[0].encode()
        chosen: dict[Key, Slot] = {}
        full: list[Entry] = []
        for entry in entries:
            if slot := self._slots.take(entry.key.endpoint_id, quick=entry.stream == quick):
                chosen[entry.key] = slot
            else:
                full.append(entry)
        if full:
            metrics.PUT_BACK.inc(len(full))
            names = {entry.key.endpoint_id for entry in full}
            limits = {name: (self._slots.taken(name), _PUT_BACK_FOR) for name in names}
            self._begin(self._returns.wait(full, limits, stop), self._aside)
        claimable = [entry for entry in entries if entry.key in chosen]
        try:
            log_failed(await apart(claimable, functools.partial(self._claim, chosen, stop)))
        finally:
            for slot in chosen.values():
                self._slots.leave(slot)

    async def _claim(self, slots: dict[Key, Slot], stop: asyncio.Event, entries: Sequence[Entry]) -> None:
        """Claim entries and begin their POSTs, each with its slot."""
        lease, timeout = self._settings.lease, self._settings.delivery_timeout
        found = await persist(functools.partial(claim, entries, self.consumer, lease, timeout), self._liveness, stop)
        if found is None:
            return
        self._liveness.moved = time.monotonic()
        for job in found.jobs:
            self._held[job.entry.key] = job.entry
            self._begin(self._post(job, slots.pop(job.entry.key), stop), self._posts)
        if found.held:
            limits = dict.fromkeys(found.unreadable, (1, _UNREADABLE_FOR))
            self._begin(self._returns.wait(found.held, limits, stop), self._aside)
        known = {entry.key for entry in found.held} | {job.entry.key for job in found.jobs}
        if others := [entry for entry in entries if entry.key not in known]:
            self._begin(self._returns.unclaimed(others, stop), self._aside)

    def _begin(self, work: Coroutine[Any, Any, None], tasks: set[asyncio.Task[None]]) -> None:
        task = asyncio.create_task(work)
        tasks.add(task)
        task.add_done_callback(functools.partial(self._ended, tasks))

    async def _post(self, job: ClaimedDelivery, slot: Slot, stop: asyncio.Event) -> None:
        slot.timer = asyncio.get_running_loop().call_later(SLOW_AFTER, self._slow_down, slot)
        try:
            if job.numbered and job.sequence is None:
                job = job._replace(sequence=await self._numbering.of(job.entry.key, stop))
                if job.sequence is None:  # it is being erased or canceled, or we have to stop: the entry stays pending
                    del self._held[job.entry.key]
                    return
            if time.perf_counter() > job.send_before:  # another worker might send the same: let it
                telemetry.log("deliver.too_late", level=logging.WARNING, **job.names)
                del self._held[job.entry.key]
                return
            self._recorder.put(await attempt(job, self._transport, self._settings))
        except Exception as error:  # noqa: BLE001 - stays pending; after some rounds it is set aside
            telemetry.log("delivery.failed", level=logging.ERROR, error=error, **job.names)
            del self._held[job.entry.key]
        finally:
            slot.timer.cancel()
            self._slots.leave(slot)

    def _slow_down(self, slot: Slot) -> None:
        if not self._slots.slow_down(slot):
            slot.timer = asyncio.get_running_loop().call_later(SLOW_AFTER, self._slow_down, slot)
        self._room.set()

    def _ended(self, tasks: set[asyncio.Task[None]], task: asyncio.Task[None]) -> None:
        tasks.discard(task)
        if not task.cancelled() and (error := task.exception()):  # its entries stay pending
            telemetry.log("deliver.failed", level=logging.WARNING, error=error)
        self._liveness.moved = time.monotonic()
        self._room.set()
