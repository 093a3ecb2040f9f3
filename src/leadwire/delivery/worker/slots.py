"""How many POSTs each endpoint may have under way in this worker, so that none makes another wait. Pure.

There is a fast lane and, for POSTs that have taken longer than `SLOW_AFTER`, a slow lane with more slots: they cost
memory only. How many an endpoint may have depends on how many are free (the dynamic threshold of Choudhury and Hahne,
1998), so that a few endpoints cannot fill a lane. A quarter of the fast lane is for quick deliveries alone, those of
endpoints that have next to nothing queued. An endpoint with slow POSTs begins further ones in the slow lane.
"""

from collections import Counter
from typing import Final, Protocol

SLOW_AFTER: Final = 1.0
"""Seconds."""
SLOW_FACTOR: Final = 4
"""Slots in the slow lane for one in the fast lane."""

_SLOW_SHARE: Final = 8
"""An endpoint may have one slow slot for so many that are free."""


class Timer(Protocol):
    def cancel(self) -> None: ...


class Slot:
    """What one POST holds, until it is given back with `Slots.leave`."""

    __slots__ = ("endpoint_id", "slow", "timer")
    timer: Timer
    """Of whoever moves it to the slow lane."""

    def __init__(self, endpoint_id: str, *, slow: bool) -> None:
        self.endpoint_id, self.slow = endpoint_id, slow


class _Lane:
    def __init__(self, slots: int) -> None:
        self.free = slots
        self.taken: Counter[str] = Counter()

    def enter(self, endpoint_id: str) -> None:
        self.free -= 1
        self.taken[endpoint_id] += 1

    def leave(self, endpoint_id: str) -> None:
        self.free += 1
        self.taken[endpoint_id] -= 1
        if not self.taken[endpoint_id]:
            del self.taken[endpoint_id]


class Slots:
    """The slots of one worker: `fast` of them, and `SLOW_FACTOR` times as many slow ones."""

    def __init__(self, fast: int) -> None:
        self._fast, self._slow = _Lane(fast), _Lane(fast * SLOW_FACTOR)
        self._reserved = fast // 4

    @property
    def free(self) -> int:
        """Slots of the fast lane that are free."""
        return self._fast.free

    def take(self, endpoint_id: str, *, quick: bool = False) -> Slot | None:
        """Return a slot, or None when the endpoint has all that it may have."""
        slow = endpoint_id in self._slow.taken
        lane = self._slow if slow else self._fast
        limit = lane.free / _SLOW_SHARE if slow else lane.free - (0 if quick else self._reserved)
        if lane.taken[endpoint_id] >= limit:
            return None
        lane.enter(endpoint_id)
        return Slot(endpoint_id, slow=slow)

    def slow_down(self, slot: Slot) -> bool:
        """Move a POST to the slow lane, if that has a slot. Return whether it is there."""
        if not slot.slow and self._slow.free > 0:
            slot.slow = True
            self._fast.leave(slot.endpoint_id)
            self._slow.enter(slot.endpoint_id)
        return slot.slow

    def leave(self, slot: Slot) -> None:
        """Give a slot back."""
        (self._slow if slot.slow else self._fast).leave(slot.endpoint_id)

    def taken(self, endpoint_id: str) -> int:
        """Return how many POSTs an endpoint has under way."""
        return self._fast.taken[endpoint_id] + self._slow.taken[endpoint_id]
