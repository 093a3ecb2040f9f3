"""How many POSTs each endpoint may have under way in this worker, so that none makes another wait. Pure.

There is a fast lane and, for POSTs that have taken longer than `SLOW_AFTER`, a slow lane with more slots: they cost
memory only. How many an endpoint may have depends on how many are free (the dynamic threshold of Choudhury and Hahne,
1998), so that a few endpoints cannot fill a lane, and on what came of its POSTs: one more for each that was delivered,
half as many after one that failed; slow ones keep a few. A quarter of the fast lane is for endpoints that have no POST
under way and whose last did not fail. An endpoint whose last POST was slow begins the next in the slow lane.
"""

from collections import Counter
from dataclasses import dataclass, field
from typing import Final, Protocol

SLOW_AFTER: Final = 1.0
"""Seconds."""
SLOW_FACTOR: Final = 4
"""Slots in the slow lane for one in the fast lane."""

_SLOW_SHARE: Final = 8
"""An endpoint may have one slow slot for so many that are free."""
_FIRST: Final = 8  # POSTs that an endpoint may have under way before anything is known of it
_KNOWN: Final = 20_000  # endpoints of which that is remembered


class Timer(Protocol):
    def cancel(self) -> None: ...


@dataclass(slots=True, eq=False)
class Slot:
    """What one POST holds, until it is given back with `Slots.leave`."""

    endpoint_id: str
    slow: bool
    timer: Timer = field(init=False)
    """Of whoever moves it to the slow lane."""


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


@dataclass(slots=True)
class _Record:
    """What is known of an endpoint: how many POSTs it may have, and how its last one was."""

    most: int = _FIRST
    failing: bool = False
    slow: bool = False


class Pace:
    """So many a second, of which `burst` may come at once. Times are seconds of a monotonic clock."""

    def __init__(self, rate: float, burst: int) -> None:
        self._rate, self._burst = rate, burst
        self._free, self._at = float(burst), 0.0

    def free(self, now: float) -> int:
        """Return how many there may be at this moment."""
        self._free, self._at = min(self._burst, self._free + (now - self._at) * self._rate), now
        return int(self._free)

    def take(self, count: int) -> None:
        self._free -= count


class Slots:
    """The slots of one worker: `fast` of them, and `SLOW_FACTOR` times as many slow ones."""

    def __init__(self, fast: int) -> None:
        self._fast, self._slow = _Lane(fast), _Lane(fast * SLOW_FACTOR)
        self._reserved, self._largest = fast // 4, fast
        self._records: dict[str, _Record] = {}

    @property
    def free(self) -> int:
        """Slots of the fast lane that are free."""
        return self._fast.free

    def rank(self, endpoint_id: str) -> tuple[bool, int]:
        """Whether the last POST of an endpoint failed, and how many it has under way: the least comes first."""
        record = self._records.get(endpoint_id)
        return record is not None and record.failing, self.taken(endpoint_id)

    def take(self, endpoint_id: str) -> Slot | None:
        """Return a slot, or None when the endpoint has all that it may have."""
        record = self._records.get(endpoint_id) or _Record()
        slow = record.slow or endpoint_id in self._slow.taken
        lane, posts = self._slow if slow else self._fast, self.taken(endpoint_id)
        reserved = self._reserved if posts or record.failing else 0
        limit = lane.free / _SLOW_SHARE if slow else lane.free - reserved
        if lane.taken[endpoint_id] >= limit or posts >= record.most:
            return None
        lane.enter(endpoint_id)
        return Slot(endpoint_id, slow=slow)

    def slow_down(self, slot: Slot) -> bool:
        """Move a POST to the slow lane, if that has a slot. Return whether it is there."""
        self._known(slot.endpoint_id).slow = True
        if not slot.slow and self._slow.free > 0:
            slot.slow = True
            self._fast.leave(slot.endpoint_id)
            self._slow.enter(slot.endpoint_id)
        return slot.slow

    def leave(self, slot: Slot) -> None:
        (self._slow if slot.slow else self._fast).leave(slot.endpoint_id)

    def note(self, endpoint_id: str, seconds: float, *, delivered: bool) -> None:
        """Note how long a POST took, and whether it was delivered."""
        record = self._known(endpoint_id)
        record.slow, record.failing = seconds >= SLOW_AFTER, not delivered
        least = _FIRST if record.slow else 1
        record.most = min(record.most + 1, self._largest) if delivered else max(least, record.most // 2)

    def taken(self, endpoint_id: str) -> int:
        return self._fast.taken[endpoint_id] + self._slow.taken[endpoint_id]

    def _known(self, endpoint_id: str) -> _Record:
        record = self._records.get(endpoint_id)
        if record is None:
            if len(self._records) >= _KNOWN:
                del self._records[next(iter(self._records))]
            record = self._records[endpoint_id] = _Record()
        return record
