"""What may be done to a delivery: by a worker, a relay, a receiver, a customer or an operator.

Whoever adds an operation to `delivery` that changes deliveries adds it to `by_engine.py` or `by_people.py`, with the
starts in which it may come.
"""

import contextlib
from collections import Counter
from collections.abc import Awaitable, Callable
from typing import Any, Final, NamedTuple

from leadwire.delivery.retry import NextStep
from leadwire.delivery.states import Outcome
from leadwire.delivery.worker.record import record
from leadwire.infrastructure import db
from tests.interleavings.starts import Start, outcome

Post = tuple[str, str, int, int]
"""Event, endpoint, generation, number of the attempt."""


class Case:
    """A start, and what the two operations have in hand. Afterwards `settle` records what was sent."""

    def __init__(self, start: Start) -> None:
        self.start = start
        self.jobs = dict(start.jobs)
        self.posts: Counter[Post] = Counter()
        for owner, job in self.jobs.items():
            if owner != start.unsent:
                self.sent(job.entry.key.event_id, job.entry.key.endpoint_id, job.generation, job.number)

    def sent(self, *post: Any) -> None:
        self.posts[post] += 1

    async def settle(self) -> None:
        """Let every worker that lives record what it has sent."""
        for owner in tuple(self.jobs):
            if owner not in (self.start.dead_owner, self.start.unsent):
                await self.record(owner, "delivered", NextStep("delivered"))

    async def record(self, owner: str, said: Outcome, step: NextStep) -> None:
        """What a worker does with an outcome; where somebody has locked the endpoint, it tries again later."""
        if job := self.jobs.get(owner):
            with contextlib.suppress(db.Locked):
                await record([outcome(job, said, step)], owner)
                self.jobs.pop(owner, None)  # the same may be recorded twice at once, after an answer that was lost


class Operation(NamedTuple):
    """What one session does, and in which states of a delivery."""

    name: str
    starts: frozenset[str]
    work: Callable[[Case], Awaitable[object]]
    refuses: tuple[type[BaseException], ...] = ()
    """What its callers expect it to raise."""


PULLED: Final = "offered handed expired"
"""Starts of endpoints whose receivers fetch."""


def operation(operations: dict[str, Operation], starts: str, *refuses: type[BaseException]):
    """Add a function to `operations`, with the starts that it may come in and what it may raise."""

    def added(work: Callable[[Case], Awaitable[object]]):
        operations[work.__name__] = Operation(work.__name__, frozenset(starts.split()), work, refuses)
        return work

    return added
