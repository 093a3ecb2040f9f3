"""Waiting: a pause that grows while something keeps failing, and a wait for either of two events."""

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


async def either(one: asyncio.Event, other: asyncio.Event, seconds: float) -> None:
    """Wait until one of two events is set, `seconds` at the most."""
    if one.is_set() or other.is_set():
        return
    waiting = [asyncio.ensure_future(event.wait()) for event in (one, other)]
    try:
        await asyncio.wait(waiting, timeout=seconds, return_when=asyncio.FIRST_COMPLETED)
    finally:
        for task in waiting:
            task.cancel()
