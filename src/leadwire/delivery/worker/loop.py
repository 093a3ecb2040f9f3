"""The worker: reads only what it can hold, acknowledges only what is recorded, and finishes what it has begun.

A crash anywhere before `record` leaves the entry pending, and another worker takes it over: a second POST with the
same `webhook-id` is possible, a loss is not. After `record` the entry is stale and is only acknowledged.
"""

import asyncio
import functools
import logging
import os
import secrets
import socket
import time
from collections.abc import Awaitable, Callable
from typing import Final, TypeVar

from redis.asyncio import Redis
from redis.exceptions import ResponseError

from leadwire.delivery import metrics, streams
from leadwire.delivery.streams import Entry
from leadwire.delivery.transport.guarded import GuardedTransport
from leadwire.delivery.worker.attempt import attempt
from leadwire.delivery.worker.claim import claim
from leadwire.delivery.worker.jobs import Attempt, ClaimedDelivery
from leadwire.delivery.worker.observe import Liveness, log_attempts
from leadwire.delivery.worker.quarantine import set_aside
from leadwire.delivery.worker.record import record
from leadwire.infrastructure import db, telemetry
from leadwire.infrastructure.backoff import Backoff
from leadwire.infrastructure.redis_pool import NotPrimary
from leadwire.infrastructure.settings import Settings

_BATCH: Final = 200  # entries
_BLOCK_MS: Final = 1000
_GATHER: Final = 0.004  # seconds in which several free places come together for one claim
_GATHER_OUTCOMES: Final = 0.01  # and several outcomes for one statement: this delays no delivery
_CLAIMED_WITHIN: Final = 1.0  # seconds, though the lease has less to spare: nothing would be sent at all
_RECLAIM_EVERY: Final = 5.0

T = TypeVar("T")


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
        self._room = asyncio.Event()
        self._outcomes: asyncio.Queue[Attempt | None] = asyncio.Queue()
        self._reclaimed = float("-inf")
        self._liveness = Liveness(settings.delivery_timeout)
        metrics.IN_HAND.follow(lambda: len(self._posts))
        metrics.SLOTS.show(settings.delivery_concurrency)

    async def run(self, stop: asyncio.Event) -> None:
        """Deliver until `stop` is set, then finish what is in hand: at most one delivery timeout, and one to record."""
        recording = asyncio.create_task(self._record_outcomes())
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
                metrics.FAILED.cell("deliver").add()
                telemetry.log("deliver.failed", level=logging.WARNING, error=error)
                await asyncio.sleep(pause.next())
        if self._posts:
            await asyncio.wait(self._posts)
        self._outcomes.put_nowait(None)
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
        """Return new entries, as many as there are free places; now and then also what another worker dropped."""
        free = self._settings.delivery_concurrency - len(self._posts)
        if free < _BATCH // 2 and self._posts:
            self._room.clear()
            if free <= 0:
                await self._room.wait()
            await asyncio.sleep(_GATHER)
            free = self._settings.delivery_concurrency - len(self._posts)
        count = max(1, min(_BATCH, free) // self._shards)
        loop = asyncio.get_running_loop()
        try:
            if loop.time() - self._reclaimed > _RECLAIM_EVERY:
                self._reclaimed = loop.time()
                idle_ms = int(self._settings.lease * 1000)
                ours = {(entry.stream, entry.id) for entry in self._held.values()}
                taken, poison, soon = await streams.reclaim(
                    self._redis, self.consumer, self._shards, idle_ms, count, ours
                )
                if soon:
                    self._reclaimed = float("-inf")
                if poison:
                    await self._set_aside(poison)
                if taken:
                    metrics.RECLAIMED.cell().add(len(taken))
                    telemetry.log("stream.reclaimed", level=logging.WARNING, entries=len(taken))
                    return taken
            return await streams.read(self._redis, self.consumer, self._shards, count, _BLOCK_MS)
        except ResponseError as error:
            if not str(error).startswith("NOGROUP"):
                raise
            await streams.prepare(self._redis, self._shards)  # a new or a flushed Redis
            return []

    async def _set_aside(self, poison: list[Entry]) -> None:
        for event_id, endpoint_id in await set_aside(poison):
            metrics.SET_ASIDE.cell().add()
            telemetry.log("delivery.set_aside", level=logging.ERROR, event_id=event_id, endpoint_id=endpoint_id)
        await streams.done(self._redis, poison)

    async def _start(self, entries: list[Entry], stop: asyncio.Event) -> None:
        """Claim, and begin a POST for each job. Entries are kept until the database has answered."""
        entries = [entry for entry in entries if entry.key[:2] not in self._held]
        if not entries:
            return
        read = time.monotonic()
        jobs, stale = await self._persist(functools.partial(claim, entries), stop) or ([], [])
        self._liveness.moved = time.monotonic()
        if self._liveness.moved - read > max(_CLAIMED_WITHIN, self._settings.lease - self._settings.delivery_timeout):
            # A POST might outlast the lease, and another worker would send the same: let one that is quicker do it.
            telemetry.log("deliver.too_late", level=logging.WARNING, entries=len(entries))
            return
        for job in jobs:
            self._held[job.entry.key[:2]] = job.entry
            post = asyncio.create_task(self._post(job))
            self._posts.add(post)
            post.add_done_callback(self._posted)
        if stale:
            metrics.STALE.cell().add(len(stale))
            telemetry.log("stream.stale", entries=len(stale))
            await streams.done(self._redis, stale)

    async def _post(self, job: ClaimedDelivery) -> None:
        try:
            self._outcomes.put_nowait(await attempt(job, self._transport, self._settings))
        except Exception as error:  # noqa: BLE001 - stays pending; after some rounds it is set aside
            telemetry.log("delivery.failed", level=logging.ERROR, error=error, event_id=job.entry.key.event_id)
            del self._held[job.entry.key[:2]]

    def _posted(self, post: asyncio.Task[None]) -> None:
        self._posts.discard(post)
        self._liveness.moved = time.monotonic()
        self._room.set()

    async def _record_outcomes(self) -> None:
        """Record outcomes in batches, then acknowledge. Ends at the None that `run` puts last."""
        ended = False
        while not ended:
            batch = [await self._outcomes.get()]
            self._liveness.settled = time.monotonic()
            await asyncio.sleep(_GATHER_OUTCOMES)
            batch.extend(self._outcomes.get_nowait() for _ in range(self._outcomes.qsize()))
            ended = None in batch
            if done := [one for one in batch if one is not None]:
                await self._record(done)

    async def _record(self, done: list[Attempt]) -> None:
        try:
            dead = await self._persist(functools.partial(record, done, self._settings.retry_schedule))
        except db.UNSTORABLE as error:
            if len(done) > 1:  # one of them cannot be written down: the others must not wait for it
                for one in done:
                    await self._record([one])
                return
            telemetry.log("delivery.unrecordable", level=logging.ERROR, error=error, event_id=done[0].job.entry.key[0])
            del self._held[done[0].job.entry.key[:2]]
            return
        for one in done:
            del self._held[one.job.entry.key[:2]]
        await self._acknowledge(done, dead or [])

    async def _acknowledge(self, done: list[Attempt], dead: list[Attempt]) -> None:
        telemetry.log(
            "batch.delivered",
            attempts=len(done),
            delivered=sum(one.outcome == "delivered" for one in done),
            dead=len(dead),
        )
        log_attempts(done)
        try:
            await streams.done(self._redis, [one.job.entry for one in done])
            if dead:
                await streams.announce_dead(self._redis, [(*one.job.entry.key[:2], one.outcome) for one in dead])
        except Exception as error:  # noqa: BLE001 - the entries are stale now; whoever takes them over acknowledges them
            telemetry.log("stream.not_acknowledged", level=logging.WARNING, error=error, entries=len(done))

    async def _persist(self, work: Callable[[], Awaitable[T]], stop: asyncio.Event | None = None) -> T | None:
        """Do `work` however long the database is away; None when `stop` came first. Raises db.UNSTORABLE.

        Once is always tried: entries that were read just before `stop` would otherwise wait for their lease to end.
        """
        pause = Backoff()
        while True:
            self._liveness.begin_round(recording=stop is None)
            try:
                return await work()
            except db.UNSTORABLE:
                raise
            except Exception as error:  # noqa: BLE001 - as above
                metrics.FAILED.cell("record" if stop is None else "deliver").add()
                telemetry.log("database.unreachable", level=logging.WARNING, error=error)
            if stop is not None and stop.is_set():
                return None
            await asyncio.sleep(pause.next())
