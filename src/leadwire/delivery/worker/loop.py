"""The worker: reads only what it can hold, acknowledges only what is recorded, and finishes what it has begun.

A crash anywhere before `record` leaves the entry pending, and another worker takes it over when the lease has ended: a
second POST with the same `webhook-id` is possible, a loss is not. After `record` the entry is stale and is only
acknowledged.
"""

import asyncio
import contextlib
import functools
import logging
import os
import secrets
import socket
import time
from collections.abc import Coroutine
from typing import Any, Final

from redis.asyncio import Redis
from redis.exceptions import ResponseError

from leadwire.delivery import metrics, streams
from leadwire.delivery.streams import Entry, Key
from leadwire.delivery.transport.guarded import GuardedTransport
from leadwire.delivery.worker import stale
from leadwire.delivery.worker.attempt import ClaimedDelivery, attempt
from leadwire.delivery.worker.claim import claim, locked, put_back
from leadwire.delivery.worker.number import Numbering
from leadwire.delivery.worker.observe import Liveness
from leadwire.delivery.worker.quarantine import set_aside
from leadwire.delivery.worker.recorder import Recorder, persist
from leadwire.delivery.worker.slots import SLOW_AFTER, SLOW_FACTOR, Slot, Slots
from leadwire.infrastructure import db, telemetry
from leadwire.infrastructure.backoff import Backoff
from leadwire.infrastructure.redis_pool import NotPrimary
from leadwire.infrastructure.settings import Settings

_BATCH: Final = 100  # entries, of all shards; and some of the quick stream
_BLOCK_MS: Final = 1000
_BLOCK_BUSY_MS: Final = 5
_BUSY: Final = 0.01  # seconds that everything else in the event loop takes
_GATHER: Final = 0.004  # seconds in which several free slots come together for one claim
_RECLAIM_EVERY: Final = 5.0
_MARGIN: Final = 5.0  # seconds after the lease: a claim comes later than the read from which Redis counts
_PUT_BACK_FOR: Final = 0.2  # seconds
_UNREADABLE_FOR: Final = 60.0
_LOCKED_FOR: Final = 1.0


class Deliverer:
    """One worker process's work."""

    def __init__(self, redis: Redis, transport: GuardedTransport, settings: Settings) -> None:
        self._redis = redis
        self._transport = transport
        self._settings = settings
        self._shards = settings.stream_shards
        self.consumer = f"{socket.gethostname()}-{os.getpid()}-{secrets.token_hex(3)}"
        self._held: dict[tuple[str, str], Entry] = {}  # from claim to record: the database may be away past the lease
        self._posts: set[asyncio.Task[None]] = set()
        self._aside: set[asyncio.Task[None]] = set()  # what is being put back
        self._putting_back = asyncio.Lock()
        self._turns = 0
        self._slots = Slots(settings.delivery_concurrency)
        self._room = asyncio.Event()
        self._reclaimed = float("-inf")
        self._liveness = Liveness(settings.delivery_timeout)
        self._recorder = Recorder(redis, self.consumer, self._held, self._liveness)
        self._numbering = Numbering(self.consumer, self._liveness)
        metrics.IN_HAND.follow(lambda: len(self._posts))
        metrics.SLOTS.show(settings.delivery_concurrency * (1 + SLOW_FACTOR))

    async def run(self, stop: asyncio.Event) -> None:
        """Deliver until `stop` is set, then finish what is in hand: at most one delivery timeout, and one to record."""
        recording = asyncio.create_task(self._recorder.run())
        await self._leave()  # takes off the names of workers that were killed
        pause = Backoff()
        while not stop.is_set():
            self._liveness.begin_round()
            try:
                entries = await self._take()
                if entries:
                    await self._start(entries, stop)
                pause.reset()
                self._liveness.streams_answered(replica=False)
            except Exception as error:  # noqa: BLE001 - asyncpg and redis-py raise more than they document
                self._liveness.streams_answered(replica=isinstance(error, NotPrimary))
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

    async def _take(self) -> list[Entry]:
        """Return new entries while there are free slots; now and then also what another worker dropped.

        More than there are slots: what is in front may be of endpoints that get none.
        """
        if self._slots.free <= 0:
            self._room.clear()
            await self._room.wait()
            await asyncio.sleep(_GATHER)
        count = max(1, _BATCH // self._shards)
        loop = asyncio.get_running_loop()
        try:
            if loop.time() - self._reclaimed > _RECLAIM_EVERY:
                self._reclaimed = loop.time()
                idle_ms = int((self._settings.lease + _MARGIN) * 1000)
                ours = {(entry.stream, entry.id) for entry in self._held.values()}
                taken, poison, soon = await streams.reclaim(
                    self._redis, self.consumer, self._shards, idle_ms, count, ours
                )
                if soon:
                    self._reclaimed = float("-inf")
                if poison:
                    await set_aside(poison)
                    await streams.done(self._redis, poison)
                if taken:
                    metrics.RECLAIMED.inc(len(taken))
                    telemetry.log("stream.reclaimed", level=logging.WARNING, entries=len(taken))
                    return taken
            busy = await self._is_busy()
            block_ms = _BLOCK_BUSY_MS if busy else _BLOCK_MS
            return await streams.read(self._redis, self.consumer, self._shards, count, block_ms, quick_only=busy)
        except ResponseError as error:
            if not str(error).startswith("NOGROUP"):
                raise
            await streams.prepare(self._redis, self._shards)  # a new or a flushed Redis
            return []

    async def _is_busy(self) -> bool:
        """Whether the event loop is behind, so that only quick deliveries are begun; the others each fourth time."""
        self._turns += 1
        start = time.perf_counter()
        await asyncio.sleep(0)
        return time.perf_counter() - start > _BUSY and self._turns % 4 > 0

    async def _start(self, entries: list[Entry], stop: asyncio.Event) -> None:
        """Claim, and begin a POST for each job. Entries are kept until the database has answered."""
        quick = streams.names(self._shards)[0].encode()
        chosen: dict[Key, Slot] = {}
        full: list[Entry] = []
        entries = list({entry.key: entry for entry in entries if entry.key[:2] not in self._held}.values())
        for entry in entries:
            if slot := self._slots.take(entry.key.endpoint_id, quick=entry.stream == quick):
                chosen[entry.key] = slot
            else:
                full.append(entry)
        if full:
            metrics.PUT_BACK.inc(len(full))
            names = {entry.key.endpoint_id for entry in full}
            limits = {name: (self._slots.taken(name), _PUT_BACK_FOR) for name in names}
            self._begin(self._put_back(full, limits, stop), self._aside)
        claimable = [entry for entry in entries if entry.key in chosen]
        if not claimable:
            return
        lease, timeout = self._settings.lease, self._settings.delivery_timeout
        try:
            found = await persist(
                functools.partial(claim, claimable, self.consumer, lease, timeout), self._liveness, stop
            )
            if found is None:
                return
            self._liveness.moved = time.monotonic()
            for job in found.jobs:
                self._held[job.entry.key[:2]] = job.entry
                self._begin(self._post(job, chosen.pop(job.entry.key), stop), self._posts)
        finally:
            for slot in chosen.values():
                self._slots.leave(slot)
        if found.held:
            limits = dict.fromkeys(found.unreadable, (1, _UNREADABLE_FOR))
            self._begin(self._put_back(found.held, limits, stop), self._aside)
        known = {entry.key for entry in found.held}
        if others := [entry for entry in claimable if entry.key in chosen and entry.key not in known]:
            await self._drop(others, stop)

    async def _drop(self, entries: list[Entry], stop: asyncio.Event) -> None:
        """Acknowledge what no claim is for. What somebody has only locked is added again first."""
        found = await persist(functools.partial(locked, entries, self.consumer), self._liveness, stop)
        if found is None:
            return
        if again := [entry for entry in entries if entry.key in found]:
            self._begin(stale.add_again(self._redis, again, self._shards, stop), self._aside)
        await stale.acknowledge(self._redis, [entry for entry in entries if entry.key not in found])

    def _begin(self, work: Coroutine[Any, Any, None], tasks: set[asyncio.Task[None]]) -> None:
        task = asyncio.create_task(work)
        tasks.add(task)
        task.add_done_callback(functools.partial(self._ended, tasks))

    async def _put_back(self, entries: list[Entry], limits: dict[str, tuple[int, float]], stop: asyncio.Event) -> None:
        """Let deliveries wait, in a task of its own, one after the other: claims need the connections more."""
        work = functools.partial(put_back, [entry.key for entry in entries], self.consumer, limits)
        async with self._putting_back:
            with contextlib.suppress(db.Locked):
                if await persist(work, self._liveness, stop):
                    await streams.done(self._redis, entries)
                return
        await asyncio.sleep(_LOCKED_FOR)
        await self._put_back(entries, limits, stop)

    async def _post(self, job: ClaimedDelivery, slot: Slot, stop: asyncio.Event) -> None:
        slot.timer = asyncio.get_running_loop().call_later(SLOW_AFTER, self._slow_down, slot)
        try:
            if job.numbered and job.sequence is None:
                job = job._replace(sequence=await self._numbering.of(job.entry.key, stop))
                if job.sequence is None:  # it is being erased or canceled, or we have to stop: the entry stays pending
                    del self._held[job.entry.key[:2]]
                    return
            if time.perf_counter() > job.send_before:  # another worker might send the same: let it
                telemetry.log("deliver.too_late", level=logging.WARNING, **job.names)
                del self._held[job.entry.key[:2]]
                return
            self._recorder.put(await attempt(job, self._transport, self._settings))
        except Exception as error:  # noqa: BLE001 - stays pending; after some rounds it is set aside
            telemetry.log("delivery.failed", level=logging.ERROR, error=error, **job.names)
            del self._held[job.entry.key[:2]]
        finally:
            slot.timer.cancel()
            self._slots.leave(slot)

    def _slow_down(self, slot: Slot) -> None:
        if not self._slots.slow_down(slot):
            slot.timer = asyncio.get_running_loop().call_later(SLOW_AFTER, self._slow_down, slot)
        self._room.set()

    def _ended(self, tasks: set[asyncio.Task[None]], task: asyncio.Task[None]) -> None:
        tasks.discard(task)
        self._liveness.moved = time.monotonic()
        self._room.set()
