"""Each workspace's share of the connections, and who waits for one: a workspace that floods waits for itself."""

import asyncio
from collections import deque
from contextvars import ContextVar
from typing import Any, Final

from leadwire.infrastructure.errors import RateLimited

MOST_WAITING: Final = 1000
"""Requests of one workspace that may wait for a connection in a process."""
_TIMES: Final = 4  # as many as are free

workspace: ContextVar[str] = ContextVar("workspace", default="")
"""Whose work this is; empty for what is nobody's, which has no share."""


class Crowded(RateLimited, detail="Too many requests of this workspace wait for the database. Send fewer at a time."):
    """Too many requests of one workspace wait for a connection."""


class Shares:
    """A workspace gets another connection only while it has fewer than four times as many as remain free.

    So one alone has at most four fifths of them, two together have at most eight ninths, and the last free one is for a
    workspace that has none. A connection is held for as long as its statements take: this is each one's share of
    statement time, too.
    """

    def __init__(self, size: int) -> None:
        self.users: dict[Any, str] = {}
        """The workspace that uses a connection, by connection."""
        self.few = _TIMES * (size - 1) / (_TIMES + 1)
        """Whoever asks may have another one while fewer are in use."""
        self._size = size
        self.waiting: dict[str, deque[asyncio.Future[Any]]] = {}
        """By workspace, the one whose turn is next first."""

    def allow(self, asking: str) -> bool:
        """Whether this workspace may have one more of the connections that are free."""
        return len(self.users) < self._size and not self._has_share(asking)

    def _has_share(self, asking: str) -> bool:
        if not asking:
            return False
        held = list(self.users.values()).count(asking)
        return held > 0 and held >= _TIMES * (self._size - len(self.users) - 1)

    def wait(self, asking: str) -> "asyncio.Future[Any]":
        """Wait for a connection, or None when one may be opened. First come, first served within a workspace, and the
        workspaces take turns. Whoever is canceled is to be removed. Raise Crowded.
        """
        queue = self.waiting.get(asking)
        if queue is None:
            queue = self.waiting[asking] = deque()
        elif asking and len(queue) >= MOST_WAITING:
            raise Crowded(headers={"Retry-After": "1"})
        waiter: asyncio.Future[Any] = asyncio.get_running_loop().create_future()
        queue.append(waiter)
        return waiter

    def hand_on(self, connection: Any) -> bool:
        """Give a free connection, or None for one that may be opened, to who is next. Return whether anybody was."""
        waiting = self.waiting
        for asking, queue in waiting.items():
            if asking and self._has_share(asking):
                continue
            waiter = next((future for future in queue if not future.done()), None)
            if waiter is None:  # all canceled just now, to be removed
                continue
            queue.remove(waiter)
            if not queue:
                del waiting[asking]
            elif len(waiting) > 1:
                waiting[asking] = waiting.pop(asking)
            if connection is not None:
                self.users[connection] = asking
            waiter.set_result(connection)
            return True
        return False

    def remove(self, asking: str, waiter: "asyncio.Future[Any]") -> None:
        queue = self.waiting[asking]
        queue.remove(waiter)
        if not queue:
            del self.waiting[asking]

    def refuse(self, error: BaseException) -> None:
        """Raise `error` in everybody who waits."""
        for asking, queue in tuple(self.waiting.items()):
            for waiter in [future for future in queue if not future.done()]:
                self.remove(asking, waiter)
                waiter.set_exception(error)

    def counts(self) -> tuple[int, int]:
        """Return how many wait, and how many of them because their workspace has its share."""
        counts = {asking: sum(not waiter.done() for waiter in queue) for asking, queue in self.waiting.items()}
        back = sum(count for asking, count in counts.items() if self._has_share(asking))
        return sum(counts.values()), back
