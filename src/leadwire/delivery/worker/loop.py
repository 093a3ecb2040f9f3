"""The worker: reads only what it can hold, acknowledges only what is recorded, and finishes what it has begun.

A crash anywhere before `record` leaves the entry pending, and another worker takes it over after a lease of silence: a
second POST with the same `webhook-id` is possible, a loss is not. After `record` the entry is stale and is only
acknowledged.
"""

import asyncio
import functools
import os
import secrets
import socket
import time
from collections.abc import Coroutine, Sequence
from typing import Any, Final

from redis.asyncio import Redis

from leadwire.delivery import metrics
from leadwire.delivery.streams import Entry, Key, consumers
from leadwire.delivery.transport.guarded import GuardedTransport
from leadwire.delivery.worker.attempt import ClaimedDelivery, attempt
from leadwire.delivery.worker.claim import claim
from leadwire.delivery.worker.heartbeat import Heartbeat
from leadwire.delivery.worker.number import Numbering
from leadwire.delivery.worker.observe import Liveness
from leadwire.delivery.worker.reader import PAGE, Reader
from leadwire.delivery.worker.recorder import Recorder, persist
from leadwire.delivery.worker.returns import Returns, log_failed
from leadwire.delivery.worker.slots import SLOW_AFTER, SLOW_FACTOR, Pace, Slot, Slots
from leadwire.delivery.worker.turns import USUAL, WHEN_BEHIND, Share, Turns
from leadwire.infrastructure import db, telemetry
from leadwire.infrastructure.backoff import Backoff
from leadwire.infrastructure.batches import apart
from leadwire.infrastructure.redis_pool import AWAY, NotPrimary
from leadwire.infrastructure.settings import Settings

_FAILING_RATE: Final = 100.0  # POSTs a second to all endpoints whose last one failed
_PACED_FOR: Final = 0.05  # seconds until more of these may begin
_BEHIND: Final = 0.01  # seconds that everything else in the event loop takes
_GATHER: Final = 0.004  # seconds in which several free slots come together for one claim
_PUT_BACK_FOR: Final = 0.2  # seconds
_UNREADABLE_FOR: Final = 60.0


class Deliverer:
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
        self._turns = Turns(self._slots)
        self._pace = Pace(_FAILING_RATE, USUAL.failing)
        self._paced: asyncio.TimerHandle | None = None
        self._ready = asyncio.Event()  # entries have come, or a slot is free for one
        self._reading: asyncio.Task[list[Entry]] | None = None
        self._liveness = Liveness(settings.delivery_timeout)
        self._recorder = Recorder(redis, self.consumer, self._held, self._liveness)
        self._returns = Returns(redis, self.consumer, self._shards, self._liveness)
        self._heartbeat = Heartbeat(redis, self.consumer, settings)
        self._reader = Reader(redis, self.consumer, settings, self._heartbeat, self._liveness, self._ours)
        self._numbering = Numbering(self.consumer, self._liveness)
        metrics.AHEAD.follow(lambda: len(self._turns))
        metrics.IN_HAND.follow(lambda: len(self._posts))
        metrics.SLOTS.show(settings.delivery_concurrency * (1 + SLOW_FACTOR))

    async def run(self, stop: asyncio.Event) -> None:
        """Deliver until `stop` is set, then finish what is in hand: at most one delivery timeout, and one to record."""
        recording = asyncio.create_task(self._recorder.run())
        beating = asyncio.create_task(self._heartbeat.run(self.stuck))
        await self._leave()  # takes off the names of workers that were killed
        pause = Backoff()
        while not stop.is_set():
            try:
                await self._round(stop)
                pause.reset()
                self._liveness.turned()
                self._liveness.streams_answered(replica=False)
            except Exception as error:  # noqa: BLE001 - asyncpg and redis-py raise more than they document
                self._liveness.streams_answered(replica=isinstance(error, NotPrimary))
                if isinstance(error, (*AWAY, *db.TRANSIENT)):
                    self._liveness.turned()
                metrics.FAILED.labels("deliver").inc()
                telemetry.warn("deliver.failed", error=error)
                await asyncio.sleep(pause.next())
        await self._give_back()
        while running := self._posts | self._aside:
            await asyncio.wait(running)
        self._recorder.end()
        try:
            await asyncio.wait_for(recording, self._settings.delivery_timeout)
        except TimeoutError:  # the database is away: the entries stay pending for whoever takes them over
            telemetry.warn("deliver.not_recorded", entries=len(self._held))
        beating.cancel()
        await self._leave()

    def stuck(self) -> str | None:
        """Why only a restart would help, or None."""
        return self._liveness.stuck(len(self._posts), len(self._held) - len(self._posts))

    def _ours(self) -> list[Entry]:
        """The entries that this worker is at work on, or that wait here."""
        return [*self._held.values(), *self._turns, *self._returns.waiting]

    async def _leave(self) -> None:
        try:
            await consumers.leave(self._redis, self.consumer, self._shards)
        except Exception as error:  # noqa: BLE001 - an idle name in a group does no harm
            telemetry.warn("deliver.not_left", error=error)

    async def _round(self, stop: asyncio.Event) -> None:
        """Wait until entries have come or a slot is free, and begin what has its turn."""
        self._read_on()
        await self._ready.wait()
        self._ready.clear()
        if self._reading and self._reading.done():
            reading, self._reading = self._reading, None
            if len(entries := reading.result()) >= PAGE:
                self._read_on()
            await self._accept(entries, stop)
        else:
            await asyncio.sleep(_GATHER)
        await self._start(stop)

    def _read_on(self) -> None:
        if self._reading is None:
            self._reading = asyncio.create_task(self._reader.read())
            self._reading.add_done_callback(lambda _: self._ready.set())

    async def _accept(self, entries: Sequence[Entry], stop: asyncio.Event) -> None:
        """Let new entries wait for their turns. One too many of a delivery is acknowledged."""
        twins = []
        for entry in entries:
            other = self._held.get(entry.key) or self._turns.add(entry)
            if other != entry:
                twins.append(entry)
        await self._returns.acknowledge(twins)
        if full := self._turns.evict():
            metrics.PUT_BACK.inc(len(full))
            limits = {name: (self._turns.count(name), _PUT_BACK_FOR) for name in {entry.key[1] for entry in full}}
            self._begin(self._returns.wait(full, limits, stop), self._aside)

    async def _start(self, stop: asyncio.Event) -> None:
        """Claim what has its turn, and begin a POST for each job; nothing that Redis's absence would keep us from."""
        if not self._heartbeat.covers(time.perf_counter()):
            return
        share = await self._share()
        paced = self._pace.free(time.monotonic())
        taken = self._turns.take(share, paced)
        self._pace.take(share.weight * sum(self._slots.rank(slot.endpoint_id)[0] for _, slot in taken))
        if taken and len(taken) >= min(share.failing, paced):  # there may be more
            self._ready.set()
        elif paced < share.failing and self._turns and self._paced is None:
            self._paced = asyncio.get_running_loop().call_later(_PACED_FOR, self._go_on)
        slots = {entry.key: slot for entry, slot in taken}
        try:
            log_failed(await apart([entry for entry, _ in taken], functools.partial(self._claim, slots, stop)))
        finally:
            for slot in slots.values():
                self._slots.leave(slot)

    async def _share(self) -> Share:
        """Return what the next claim may take: little while the event loop is behind."""
        start = time.perf_counter()
        await asyncio.sleep(0)
        return USUAL if time.perf_counter() - start < _BEHIND else WHEN_BEHIND

    async def _give_back(self) -> None:
        """Put what was read and not begun into the streams again, at once for others."""
        try:
            entries = [*self._turns.clear(), *(await self._reading if self._reading else ())]
            await self._returns.add_again(entries)
        except Exception as error:  # noqa: BLE001 - they stay pending, and are taken over
            telemetry.warn("deliver.not_given_back", error=error)

    async def _claim(self, slots: dict[Key, Slot], stop: asyncio.Event, entries: Sequence[Entry]) -> None:
        """Claim entries and begin their POSTs, each with its slot."""
        gone = self._reader.gone
        work = functools.partial(claim, entries, self.consumer, self._settings.lease, gone)
        claimed = await persist(work, self._liveness, stop)
        if claimed is None:
            return
        self._liveness.moved = time.monotonic()
        for job in claimed.jobs:
            self._held[job.entry.key] = job.entry
            self._begin(self._post(job, slots.pop(job.entry.key), stop), self._posts)
        if claimed.held:
            limits = dict.fromkeys(claimed.unreadable, (1, _UNREADABLE_FOR))
            self._begin(self._returns.wait(claimed.held, limits, stop), self._aside)
        answered = {entry.key for entry in claimed.held} | {job.entry.key for job in claimed.jobs}
        if others := [entry for entry in entries if entry.key not in answered]:
            self._begin(self._returns.unclaimed(others, gone, stop), self._aside)

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
            if not self._heartbeat.covers(job.asked):  # another worker might send the same: let it
                telemetry.warn("deliver.too_late", **job.names)
                del self._held[job.entry.key]
                return
            done = await attempt(job, self._transport, self._settings)
            self._slots.note(slot.endpoint_id, done.end - done.start, delivered=done.outcome == "delivered")
            self._recorder.put(done)
        except Exception as error:  # noqa: BLE001 - stays pending; after some rounds it is set aside
            telemetry.fail("delivery.failed", error=error, **job.names)
            del self._held[job.entry.key]
        finally:
            slot.timer.cancel()
            self._slots.leave(slot)

    def _slow_down(self, slot: Slot) -> None:
        if not self._slots.slow_down(slot):
            slot.timer = asyncio.get_running_loop().call_later(SLOW_AFTER, self._slow_down, slot)
        self._wake()

    def _ended(self, tasks: set[asyncio.Task[None]], task: asyncio.Task[None]) -> None:
        tasks.discard(task)
        if not task.cancelled() and (error := task.exception()):  # its entries stay pending
            telemetry.warn("deliver.failed", error=error)
        self._liveness.moved = time.monotonic()
        self._wake()

    def _go_on(self) -> None:
        self._paced = None
        self._wake()

    def _wake(self) -> None:
        """A slot may be free: go on if anything waits for one."""
        if self._turns:
            self._ready.set()
