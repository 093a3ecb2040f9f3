"""Where the front of a queue is, as far as one process knows.

While somebody holds an old snapshot, rows that were deleted stay in the index, and who reads a queue from its beginning
reads all of them again. So a process reads from where its last look found the front; now and then from the beginning,
so that nothing rests on what it knows: a transaction that took long may have added a row before the front.
"""

import time
from typing import Final, Generic, TypeVar

_EVERY: Final = 5.0  # seconds between looks from the beginning

T = TypeVar("T")


class Front(Generic[T]):
    """The front of one queue."""

    def __init__(self, beginning: T) -> None:
        self._front = beginning
        self._looked = float("-inf")

    def since(self) -> T | None:
        """Return from where on to look this time, or None: from the beginning."""
        now = time.monotonic()
        if now - self._looked > _EVERY:
            self._looked = now
            return None
        return self._front

    def at(self, front: T) -> None:
        """Note what the look has found: nothing is before."""
        self._front = front
