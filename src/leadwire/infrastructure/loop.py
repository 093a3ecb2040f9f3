"""Loops: work that is done again and again for as long as a process runs.

What fails is counted, logged and tried again after a pause that grows to 5 s. A round that never ends is seen: `stuck`
asks every loop of this process.
"""

import asyncio
import logging
import time
from collections.abc import Awaitable, Callable
from typing import Final, Self

from leadwire.infrastructure import telemetry
from leadwire.infrastructure.backoff import Backoff, rest
from leadwire.infrastructure.redis_pool import NotPrimary
from leadwire.infrastructure.telemetry.metrics import counter

FAILED: Final = counter("loop_failures", "Failed rounds of a loop; they are retried.", "loop")
_STUCK: Final = 135.0  # seconds

_running: Final[set["Rounds"]] = set()


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
            telemetry.log("loop.failed", level=logging.WARNING, error=error, loop=self._name)
            wait, awaited = pause.next(), stop  # more work does not shorten the pause
        if wait:
            await rest(wait, stop, awaited)


def stuck() -> str | None:
    """Why only a restart would help this process, or None."""
    return next((why for loop in _running if (why := loop.stuck())), None)
