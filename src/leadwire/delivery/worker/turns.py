"""Whose turn it is: entries that were read and are not begun, by endpoint. Pure.

Of the endpoints that may have another slot, the one with the fewest POSTs under way comes first, those that fail after
those that do not; among equals, the one whose turn was longest ago. So neither a backlog nor a receiver that hangs is
in the way of an endpoint that has little to do.
"""

import heapq
import itertools
import sys
from collections import defaultdict
from collections.abc import Iterator
from typing import Final, NamedTuple

from leadwire.delivery.streams import Entry, Key
from leadwire.delivery.worker.slots import Slot, Slots

MOST: Final = 20_000
"""Entries that a worker reads ahead: ids only, some 10 MB."""


class Share(NamedTuple):
    """What one claim may take."""

    entries: int
    failing: int
    """Of these, of endpoints whose last POST failed."""
    posts: int
    """An endpoint that has so many under way gets no more."""
    weight: int
    """What a POST to an endpoint that fails counts for in the rate of those."""


USUAL: Final = Share(entries=100, failing=8, posts=sys.maxsize, weight=1)
# More POSTs at a time help while receivers are waited for. Where the CPU is what is short, they only make others wait.
WHEN_BEHIND: Final = Share(entries=16, failing=4, posts=8, weight=4)


class Turns:
    """The entries of one worker, at most `most`."""

    def __init__(self, slots: Slots, most: int = MOST) -> None:
        self._slots, self._most = slots, most
        self._queues: dict[str, dict[Key, Entry]] = defaultdict(dict)  # the endpoint whose turn was last is at the end
        self._count = 0

    def __len__(self) -> int:
        return self._count

    def __iter__(self) -> Iterator[Entry]:
        return itertools.chain.from_iterable(queue.values() for queue in self._queues.values())

    def count(self, endpoint_id: str) -> int:
        return len(self._queues.get(endpoint_id, ()))

    def add(self, entry: Entry) -> Entry:
        """Add an entry, unless one of the same delivery waits. Return the one that waits now."""
        queue = self._queues[entry.key.endpoint_id]
        before = len(queue)
        waiting = queue.setdefault(entry.key, entry)
        self._count += len(queue) - before
        return waiting

    def take(self, share: Share, paced: int = sys.maxsize) -> list[tuple[Entry, Slot]]:
        """Take entries out, each with its slot; at most `paced` of endpoints whose last POST failed."""
        failing = max(0, min(share.failing, paced))
        taken: list[tuple[Entry, Slot]] = []
        waiting = [(*self._slots.rank(name), index, name) for index, name in enumerate(self._queues)]
        heapq.heapify(waiting)
        while waiting and len(taken) < share.entries:
            fails, posts, index, name = waiting[0]
            if fails and not failing:
                break
            slot = self._slots.take(name) if posts < share.posts else None
            if slot is None:
                heapq.heappop(waiting)
                continue
            failing -= fails
            queue = self._queues.pop(name)
            taken.append((queue.pop(next(iter(queue))), slot))
            if queue:
                self._queues[name] = queue
                heapq.heapreplace(waiting, (fails, posts + 1, index, name))
            else:
                heapq.heappop(waiting)
        self._count -= len(taken)
        return taken

    def evict(self) -> list[Entry]:
        """Take out what is too much, the latest of the endpoints that have the most: a quiet one keeps its own."""
        evicted: list[Entry] = []
        if self._count <= self._most:
            return evicted
        largest = sorted(self._queues.values(), key=len, reverse=True)
        share = max(1, self._most // len(largest))
        for queue in largest:
            while len(queue) > share // 2 and self._count > self._most * 3 // 4:
                evicted.append(queue.popitem()[1])
                self._count -= 1
        return evicted

    def clear(self) -> list[Entry]:
        entries = list(self)
        self._queues.clear()
        self._count = 0
        return entries
