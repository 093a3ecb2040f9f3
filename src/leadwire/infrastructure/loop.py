"""Loops: work that is done again and again for as long as a process runs.

What fails is counted, logged and tried again after a pause that grows to 5 s. Whose part of a round has failed rests,
longer each time, so that others go on. A round that never ends is seen: `stuck` asks every loop of this process.
"""

import asyncio
import time
from collections.abc import Awaitable, Callable, Iterable
from typing import Final, Self

from leadwire.infrastructure import telemetry
from leadwire.infrastructure.backoff import Backoff, rest
from leadwire.infrastructure.redis_pool import NotPrimary
from leadwire.infrastructure.telemetry.metrics import Gauge, counter

FAILED: Final = counter("loop_failures", "Failed rounds of a loop; they are retried.", "loop")
_STUCK: Final = 135.0  # seconds
_LONGEST: Final = 60.0  # seconds that what fails rests
_FORGOTTEN: Final = 600.0  # seconds after the end of a rest

_running: Final[set["Rounds"]] = set()
_rests: Final[dict[str, dict[str, tuple[int, float]]]] = {}  # by loop
RESTING: Final = Gauge(
    "loop_resting", "Workspaces, endpoints or events that a loop's rounds fail for: they are left out for a while.",
    "loop", read=lambda: {(loop,): len(rests) for loop, rests in _rests.items()},
)  # fmt: skip


class Rounds:
    """The rounds of one loop, which `stuck` watches inside the block. A loop that is no `Loop` calls `began` itself."""

    def __init__(self, name: str) -> None:
        self._name = name
        self._since: float | None = None  # when the present round began; while Redis is a replica, the first of these

    def __enter__(self) -> Self:
        _running.add(self)
        return self

    def __exit__(self, *_: object) -> None:
        _running.discard(self)

    def began(self) -> None:
        """The round before has ended."""
        self._since = time.monotonic()

    def stuck(self) -> str | None:
        """Why only a restart would help: a round takes far longer than anything it waits for."""
        took = time.monotonic() - (self._since or time.monotonic())
        return f"{self._name} has not ended a round for {took:.0f} s" if took > _STUCK else None


class Loop(Rounds):
    """Calls `run_once` again and again. It returns the seconds until the next call, unless something wakes the loop."""

    def __init__(self, name: str, run_once: Callable[[], Awaitable[float]]) -> None:
        super().__init__(name)
        self.woken = asyncio.Event()
        self._run_once = run_once
        self._failed = FAILED.labels(name)

    async def run(self, stop: asyncio.Event) -> None:
        """Run until `stop` is set; what is in hand is finished first."""
        pause = Backoff()
        with self:
            while not stop.is_set():
                await self._round(stop, pause)

    async def _round(self, stop: asyncio.Event, pause: Backoff) -> None:
        self.woken.clear()
        self._since = self._since or time.monotonic()
        awaited = self.woken
        try:
            wait = await self._run_once()
            self._since = None
            pause.reset()
        except Exception as error:  # noqa: BLE001 - asyncpg and redis-py raise more than they document
            if not isinstance(error, NotPrimary):  # where connecting again does not help, a restart may
                self._since = None
            self._failed.inc()
            telemetry.warn("loop.failed", error=error, loop=self._name)
            wait, awaited = pause.next(), stop  # more work does not shorten the pause
        if wait:
            await rest(wait, stop, awaited)


def stuck() -> str | None:
    """Why only a restart would help this process, or None."""
    return next((why for loop in _running if (why := loop.stuck())), None)


class Failing:
    """The names (workspaces, endpoints, events) whose part of a loop's rounds has failed in this process."""

    def __init__(self, loop: str) -> None:
        self._loop = loop
        self._rests = _rests.setdefault(loop, {})  # how often in a row, and until when it rests

    def resting(self) -> list[str]:
        """Return those that are left out now."""
        now = time.monotonic()
        self.succeeded([name for name, (_, until) in self._rests.items() if until < now - _FORGOTTEN])
        return [name for name, (_, until) in self._rests.items() if until > now]

    def failed(self, name: str, error: BaseException) -> int:
        """Let it rest for 1 s, twice as long each time, up to a minute. Return how often it has failed in a row."""
        tries = self._rests.get(name, (0, 0.0))[0] + 1
        self._rests[name] = tries, time.monotonic() + min(2.0 ** min(tries - 1, 6), _LONGEST)
        FAILED.labels(self._loop).inc()
        telemetry.warn("loop.part_failed", error=error, loop=self._loop, of=name, tries=tries)
        return tries

    def all_failed(self, failures: Iterable[tuple[str, BaseException]]) -> None:
        """Let each rest, as `batches.apart` returns them."""
        for name, error in failures:
            self.failed(name, error)

    def succeeded(self, names: Iterable[str]) -> None:
        """Forget that these had failed."""
        if self._rests:
            for name in names:
                self._rests.pop(name, None)
