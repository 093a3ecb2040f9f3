"""Waiting: a pause that grows while something keeps failing, and a rest that an event ends."""

import asyncio
import random
from typing import Final

_FIRST: Final = 0.1  # seconds
_LONGEST: Final = 5.0


class Backoff:
    """Exponential back-off with jitter, 0.1 s to 5 s."""

    def __init__(self) -> None:
        self._next = _FIRST

    def next(self) -> float:
        """Return the seconds to wait this time."""
        now, self._next = self._next, min(self._next * 2, _LONGEST)
        return now * random.uniform(0.8, 1.2)  # noqa: S311 - jitter, not a secret

    def reset(self) -> None:
        """Begin again with the shortest pause."""
        self._next = _FIRST


async def rest(seconds: float, *until: asyncio.Event) -> None:
    """Wait for so many seconds, or until one of these events is set."""
    if any(event.is_set() for event in until):
        return
    waiting = [asyncio.ensure_future(event.wait()) for event in until]
    try:
        await asyncio.wait(waiting, timeout=seconds, return_when=asyncio.FIRST_COMPLETED)
    finally:
        for task in waiting:
            task.cancel()
