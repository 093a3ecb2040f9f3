"""Whose work has failed rests, longer each time, so that others go on."""

import logging
import time
from collections.abc import Iterable
from typing import Final

from leadwire.infrastructure import telemetry
from leadwire.infrastructure.loop import FAILED
from leadwire.infrastructure.telemetry.metrics import Gauge

_LONGEST: Final = 60.0  # seconds
_FORGOTTEN: Final = 600.0  # seconds after the end of a rest

_rests: Final[dict[str, dict[str, tuple[int, float]]]] = {}  # by loop
RESTING: Final = Gauge(
    "loop_resting", "Workspaces, endpoints or events that a loop's rounds fail for: they are left out for a while.",
    "loop", read=lambda: {(loop,): len(rests) for loop, rests in _rests.items()},
)  # fmt: skip


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
        telemetry.log("loop.part_failed", level=logging.WARNING, error=error, loop=self._loop, of=name, tries=tries)
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
