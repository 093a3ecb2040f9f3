"""Outcomes are recorded in batches, and only then acknowledged."""

import asyncio
import contextlib
import functools
import time
from collections.abc import Awaitable, Callable, Coroutine, Sequence
from typing import Any, Final, TypeVar

from redis.asyncio import Redis

from leadwire.delivery import metrics, streams
from leadwire.delivery.streams import Entry, Key
from leadwire.delivery.worker.attempt import Attempt
from leadwire.delivery.worker.health import is_informative
from leadwire.delivery.worker.observe import Liveness, log_attempts
from leadwire.delivery.worker.record import record
from leadwire.infrastructure import db, telemetry
from leadwire.infrastructure.backoff import Backoff, rest
from leadwire.infrastructure.batches import apart

_GATHER: Final = 0.1  # seconds in which several outcomes come together for one statement: this delays no delivery
_ENOUGH: Final = 32  # outcomes that wait no longer: if the worker is killed, they are sent again
_GATHER_INFORMATIVE: Final = 0.005  # other deliveries may wait for these
_AGAIN: Final = 1.0  # seconds until an endpoint that somebody has locked is tried again
_PAUSES: Final = (1.0, 2.0, 4.0, 8.0, 16.0)  # seconds between tries of what PostgreSQL refuses to write down

T = TypeVar("T")


class Recorder:
    """Writes down what `consumer` has done. `held` are its entries from claim to record; each leaves it here."""

    def __init__(self, redis: Redis, consumer: str, held: dict[Key, Entry], liveness: Liveness) -> None:
        self._redis, self._consumer, self._held, self._liveness = redis, consumer, held, liveness
        self._plain: asyncio.Queue[Attempt | None] = asyncio.Queue()
        self._informative: asyncio.Queue[Attempt | None] = asyncio.Queue()
        self._later: set[asyncio.Task[None]] = set()
        self._one_by_one = asyncio.Lock()
        self._ended, self._enough = asyncio.Event(), asyncio.Event()
        self._recorded: asyncio.Queue[tuple[list[Attempt], int] | None] = asyncio.Queue()

    def put(self, outcome: Attempt) -> None:
        """Record this soon. What changes its endpoint's row, too, takes longer, and nothing else waits for it."""
        (self._informative if is_informative(outcome) else self._plain).put_nowait(outcome)
        if self._plain.qsize() >= _ENOUGH:
            self._enough.set()

    def end(self) -> None:
        """Let `run` end when it has recorded all that was put."""
        self._ended.set()
        self._enough.set()
        self._plain.put_nowait(None)
        self._informative.put_nowait(None)

    async def run(self) -> None:
        acknowledging = asyncio.create_task(self._acknowledge_recorded())
        try:
            await asyncio.gather(self._drain(self._plain, _GATHER), self._drain(self._informative, _GATHER_INFORMATIVE))
            while self._later:
                await asyncio.wait(self._later)
            self._recorded.put_nowait(None)
            await acknowledging
        finally:
            acknowledging.cancel()

    async def _drain(self, outcomes: asyncio.Queue[Attempt | None], gather: float) -> None:
        ended = False
        while not ended:
            batch = [await outcomes.get()]
            self._liveness.settled = asyncio.get_running_loop().time()
            with contextlib.suppress(TimeoutError):
                async with asyncio.timeout(gather):
                    await self._enough.wait()
            batch.extend(outcomes.get_nowait() for _ in range(outcomes.qsize()))
            if self._plain.empty() and not self._ended.is_set():
                self._enough.clear()
            ended = None in batch
            if done := [attempt for attempt in batch if attempt is not None]:
                await self._record(done)

    async def _record(self, done: list[Attempt]) -> None:
        """Record outcomes, those of an endpoint together. Those that fail hold up no others, nor what comes later."""
        parts: dict[str, list[Attempt]] = {}
        for attempt in done:
            parts.setdefault(attempt.endpoint_id, []).append(attempt)
        for part, error in await apart(list(parts.values()), self._record_together):
            self._begin(self._record_later if isinstance(error, db.Locked) else self._record_apart, part)

    def _begin(self, again: Callable[[list[Attempt]], Coroutine[Any, Any, None]], done: list[Attempt]) -> None:
        task = asyncio.create_task(again(done))
        self._later.add(task)
        task.add_done_callback(self._later.discard)

    async def _record_together(self, parts: Sequence[list[Attempt]]) -> None:
        done = [attempt for part in parts for attempt in part]
        dead = await persist(functools.partial(record, done, self._consumer), self._liveness)
        for attempt in done:
            del self._held[attempt.job.entry.key]
        self._recorded.put_nowait((done, dead or 0))

    async def _record_later(self, done: list[Attempt]) -> None:
        await asyncio.sleep(_AGAIN)
        await self._record(done)

    async def _record_apart(self, done: list[Attempt]) -> None:
        """Try those again, after pauses, that cannot be written down: whoever gives them up lets them be sent twice."""
        failed = await self._try_apart(done)
        for pause in _PAUSES:
            if not failed:
                return
            await rest(pause, self._ended)
            with contextlib.suppress(Exception):  # the next time, or apart
                await self._record_together([failed])
                return
        await self._try_apart(failed, last=True)

    async def _try_apart(self, done: list[Attempt], *, last: bool = False) -> list[Attempt]:
        """Record what can be. Return the others; the `last` time they are given up, unless somebody has locked or ended
        them. It takes a statement or two for each: one part at a time.
        """
        async with self._one_by_one:
            failed = await apart([[attempt] for attempt in done], self._record_together)
        for (attempt,), reason in failed if last else ():
            if isinstance(reason, (db.Locked, db.Canceled)):
                self._begin(self._record_later, [attempt])
                continue
            telemetry.fail("delivery.unrecordable", error=reason, **attempt.job.names)
            del self._held[attempt.job.entry.key]
        return [attempt for (attempt,), _ in failed]

    async def _acknowledge_recorded(self) -> None:
        """Acknowledge one after the other. A Redis that keeps silent holds this up, and no record: leases would end."""
        while (recorded := await self._recorded.get()) is not None:
            await self._acknowledge(*recorded)

    async def _acknowledge(self, done: list[Attempt], dead: int) -> None:
        delivered = sum(attempt.outcome == "delivered" for attempt in done)
        telemetry.log("batch.delivered", attempts=len(done), delivered=delivered, dead=dead)
        log_attempts(done)
        try:
            await streams.done(self._redis, [attempt.job.entry for attempt in done])
        except Exception as error:  # noqa: BLE001 - the entries are stale now; whoever takes them over acknowledges them
            telemetry.warn("stream.not_acknowledged", error=error, entries=len(done))


async def persist(work: Callable[[], Awaitable[T]], liveness: Liveness, stop: asyncio.Event | None = None) -> T | None:
    """Do `work` however long the database is away; None when `stop` came first. Raise what else `work` raises.

    Once is always tried: entries that were read just before `stop` would otherwise wait for their lease to end.
    """
    pause = Backoff()
    while True:
        try:
            return await work()
        except db.TRANSIENT as error:
            liveness.turned(recording=stop is None)
            liveness.refused = time.perf_counter()
            metrics.FAILED.labels("record" if stop is None else "deliver").inc()
            telemetry.warn("database.unreachable", error=error)
        if stop is not None and stop.is_set():
            return None
        await asyncio.sleep(pause.next())
