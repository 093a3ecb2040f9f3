"""The runner: one loop claims what is due of every kind; calls of a kind's function run beside it.

A call that fails fails alone: a batch is run again one by one, in the same round. Any number of processes may run. A
claim (`queue.sql`) gives each workspace its turn.
"""

import asyncio
import os
import secrets
import socket
import time
from collections.abc import Awaitable, Callable, Collection, Mapping, Sequence
from datetime import UTC, datetime
from typing import Final

from leadwire.infrastructure import db, telemetry
from leadwire.infrastructure.backoff import rest
from leadwire.infrastructure.jobs import metrics, queue
from leadwire.infrastructure.jobs.kinds import KINDS, LONGEST_PAUSE, Kind
from leadwire.infrastructure.jobs.queue import Ahead, Claimed, Ended, Offer, Room
from leadwire.infrastructure.loop import Loop

_POLL: Final = 0.5  # seconds, when nothing is due
_FIRST_PAUSE: Final = 1.0  # seconds, after a job has failed for the first time
_HELD_PAUSE: Final = 5.0  # after a row that somebody else has locked
_RESTING_PAUSE: Final = LONGEST_PAUSE  # of a workspace that is suspended
_KEEP_EVERY: Final = queue.LEASE / 3
_FULL_LOOK_EVERY: Final = 5.0  # from the first entry of the index: a long transaction may have added jobs that are old
_GRACE: Final = 30.0  # seconds for what is under way when the process stops
_ALWAYS: Final = datetime(1970, 1, 1, tzinfo=UTC)

Resting = Callable[[Collection[str]], Awaitable[Collection[str]]]
"""Which of some workspaces are suspended: their jobs are put off."""


class Runner:
    """One process's part."""

    def __init__(self, resting: Resting, kinds: Mapping[str, Kind] = KINDS) -> None:
        self._resting, self._kinds = resting, kinds
        self._owner = f"{socket.gethostname()}-{os.getpid()}-{secrets.token_hex(3)}"
        self._calls: dict[asyncio.Task[None], tuple[str, set[str]]] = {}  # kind and keys
        self._suspects: dict[asyncio.Task[None], float] = {}  # calls of jobs whose last process has died, since when
        self._marks: dict[str, tuple[datetime, str]] = {}
        self._rests: dict[str, float] = {}  # kinds, until when none is begun
        self._offered = False  # the chores: there is one job of each
        self._looked, self._kept = float("-inf"), time.monotonic()
        self._loop = Loop("jobs", self.round)

    async def run(self, stop: asyncio.Event) -> None:
        """Run what is due until `stop` is set; what is under way is finished, unless that takes too long."""
        await self._loop.run(stop)
        if self._calls:
            await asyncio.wait(self._calls, timeout=_GRACE)
        await self._put_back(dict(self._calls))

    async def _put_back(self, calls: Mapping[asyncio.Task[None], tuple[str, set[str]]]) -> None:
        """End calls. Another process begins their jobs anew, at once; where the database is away, after the lease."""
        for call in calls:
            call.cancel()
        await asyncio.gather(*calls, return_exceptions=True)
        try:
            for kind, keys in calls.values():
                await queue.put_off(kind, list(keys), self._owner, 0.0)
        except Exception as error:  # noqa: BLE001 - asyncpg raises more than it documents
            telemetry.warn("job.not_put_back", error=error)

    async def run_all(self) -> None:
        """Run until nothing is due, for tests and commands."""
        while await self.round() == 0.0 or self._calls:
            if self._calls:
                await asyncio.wait(self._calls)

    async def round(self) -> float:
        """Claim what is due, and begin it. Return the seconds until the next round."""
        if not self._offered:
            for kind in self._kinds.values():
                if kind.every is not None:
                    await queue.offer(kind.name, [Offer("", "")])
            self._offered = True
        now = time.monotonic()
        if now - self._kept > _KEEP_EVERY:
            self._kept = now
            await self._keep()
        if now - self._looked > _FULL_LOOK_EVERY:
            self._looked = now
            self._marks = {kind: (_ALWAYS, after) for kind, (_, after) in self._marks.items()}
            kinds = self._kinds.values()
            await queue.bring_forward([Ahead(kind.name, kind.ahead, kind.longest_pause) for kind in kinds])
        awake = [kind for name, kind in self._kinds.items() if self._rests.get(name, now) <= now]
        rooms = [room for kind in awake if (room := self._room(kind)).room > 0]
        if not rooms:
            return _POLL
        # Whoever has lived with one for a lease takes the next: one that takes long is not what it died of.
        suspects = int(all(now - began > queue.LEASE for began in self._suspects.values()))
        claimed, marks = await queue.claim(rooms, self._owner, suspects)
        self._marks |= marks
        await self._begin(claimed)
        return 0.0 if any(len(claimed.get(room.kind, ())) >= room.room for room in rooms) else _POLL

    def _room(self, kind: Kind) -> Room:
        busy = sum(name == kind.name for name, _ in self._calls.values())
        floor, after = self._marks.get(kind.name, (_ALWAYS, ""))
        return Room(kind.name, (kind.at_once - busy) * kind.batch, floor, after, kind.tries)

    async def _begin(self, claimed: Mapping[str, Sequence[Claimed]]) -> None:
        workspaces = {job.workspace for jobs in claimed.values() for job in jobs} - {""}
        resting = await self._resting(workspaces) if workspaces else ()
        under_way = set(self._under_way())  # where their leases have ended, as the database was away
        for name, jobs in claimed.items():
            kind, left = self._kinds[name], [job for job in jobs if (name, job.key) not in under_way]
            awake = [job for job in left if job.workspace not in resting]
            if len(awake) < len(left):
                off = [job.key for job in left if job.workspace in resting]
                await queue.rest(name, off, self._owner, _RESTING_PAUSE)
            others = [job for job in awake if not job.died]
            for first in range(0, len(others), kind.batch):
                self._start(kind, others[first : first + kind.batch])
            for job in awake:
                if job.died:
                    self._suspects[self._start(kind, [job])] = time.monotonic()

    def _start(self, kind: Kind, batch: Sequence[Claimed]) -> asyncio.Task[None]:
        call = asyncio.create_task(self._call(kind, batch))
        self._calls[call] = kind.name, {job.key for job in batch}
        call.add_done_callback(self._ended)
        return call

    def _ended(self, call: asyncio.Task[None]) -> None:
        del self._calls[call]
        self._suspects.pop(call, None)
        self._loop.woken.set()

    async def _call(self, kind: Kind, jobs: Sequence[Claimed]) -> None:
        began = time.monotonic()
        try:
            ended = await self._attempt(kind, jobs)
        except Exception as error:  # noqa: BLE001 - whatever is raised, it is one job's own
            if len(jobs) == 1:
                ended = [_failed(kind, jobs[0], error, time.monotonic() - began)]
            else:
                for job in jobs:
                    await self._call(kind, [job])
                return
        await self._finish(kind, ended)

    async def _attempt(self, kind: Kind, jobs: Sequence[Claimed]) -> list[Ended]:
        with metrics.SECONDS.labels(kind.name).time():
            async with asyncio.timeout(kind.limit):
                again = await kind.run(jobs)
        if again and again.rest:
            self._rests[kind.name] = time.monotonic() + again.rest
        if again is None:
            return [Ended(job.key) for job in jobs]
        pause = again.seconds if kind.ahead is None else min(again.seconds, kind.ahead)
        return [Ended(job.key, pause, again.place) for job in jobs]

    async def _finish(self, kind: Kind, ended: Sequence[Ended]) -> None:
        """Note what came of jobs, once the database is there. Else they would be done again."""
        while ended:
            try:
                given_up, left = await queue.finish(kind.name, ended, self._owner, kind.tries)
            except Exception as error:  # noqa: BLE001 - asyncpg raises more than it documents
                telemetry.warn("job.not_noted", error=error, kind=kind.name, jobs=len(ended))
                if not isinstance(error, db.TRANSIENT):
                    return
                await rest(_POLL, asyncio.Event())
                continue
            for key in given_up:
                telemetry.fail("job.given_up", kind=kind.name, key=key)
            ended = [job for job in ended if job.key in left]
            if ended:  # somebody adds them again in a transaction that is open
                await rest(_POLL, asyncio.Event())

    async def _keep(self) -> None:
        if jobs := self._under_way():
            await queue.keep(jobs, self._owner)

    def _under_way(self) -> list[tuple[str, str]]:
        return [(name, key) for name, keys in self._calls.values() for key in keys]


def _failed(kind: Kind, job: Claimed, error: BaseException, took: float) -> Ended:
    """A row that somebody has locked, a workspace that moves and a server that is away or refuses are nothing that the
    job could help. What fails late rests as long as it took, or the servers would do nothing else.
    """
    of_server = isinstance(error, (db.Locked, db.Moving, db.Canceled, *db.TRANSIENT))
    ours = isinstance(error, TimeoutError) or not of_server
    doubled = _FIRST_PAUSE * 2.0 ** min(job.tries, 10)  # 2.0**1024 is no number
    pause = min(doubled, LONGEST_PAUSE) if ours else _HELD_PAUSE
    metrics.FAILURES.labels(kind.name).inc()
    telemetry.warn(
        "job.failed", error=error, kind=kind.name, key=job.key, workspace_id=job.workspace,
        tries=job.tries + 1,
    )  # fmt: skip
    pause = min(max(pause, took), kind.longest_pause)
    return Ended(job.key, pause, job.place, telemetry.text_of(error)[:300], int(ours))
