"""Counts that are collected in a process, and written every few seconds, for plots and figures.

Beside the ledger: nothing waits for them, and what a process has not written when it is killed is missing there only.
"""

import asyncio
from collections import defaultdict
from collections.abc import Awaitable, Callable, Mapping
from typing import Final, TypeVar

from leadwire.infrastructure import db, redis_pool, telemetry

K = TypeVar("K")
V = TypeVar("V")
_LATER: Final[tuple[type[BaseException], ...]] = (*db.TRANSIENT, db.Orphaned, db.Canceled)


class Collected(defaultdict[K, V]):
    """Counts by key, of which there are none at first. `write` writes them `every` so many seconds. While the database
    is away they wait, up to `most` of them, and `add` adds up what comes meanwhile.
    """

    def __init__(
        self, name: str, every: float, most: int, none: Callable[[], V], add: Callable[[V, V], V],
        write: Callable[[Mapping[K, V]], Awaitable[object]],
    ) -> None:  # fmt: skip
        super().__init__(none)
        self._name, self._every, self._most, self._add, self._write = name, every, most, add, write
        self._due: asyncio.TimerHandle | None = None

    def write_soon(self) -> None:
        """Let what was counted be written."""
        if self and self._due is None:
            self._due = asyncio.get_running_loop().call_later(self._every, self._start)

    async def flush(self) -> None:
        collected = dict(self)
        self.clear()
        if not collected:
            return
        try:
            await self._write(collected)
        except _LATER as error:
            telemetry.warn(f"{self._name}.late", error=error)
            if len(self) + len(collected) <= self._most:
                for key, value in collected.items():
                    self[key] = self._add(self[key], value)

    def _start(self) -> None:
        self._due = None
        redis_pool.run_in_background(self.flush())
