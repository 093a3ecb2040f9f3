"""Every pair of operations in every state in which both may come, in every order of their steps."""

import re
from functools import partial
from itertools import product
from typing import Final, NamedTuple

from leadwire.infrastructure import db
from tests.delivery.wired import Wire
from tests.interleavings import by_engine, by_people, checks, kept
from tests.interleavings.operations import Case, Operation
from tests.interleavings.sessions import Order, Session, each_order, interleave
from tests.interleavings.starts import STARTS, Start

OPERATIONS: Final = by_engine.OPERATIONS | by_people.OPERATIONS
TABLES: Final = re.compile(
    r"\b(?:delivery|delivery_result|every_delivery|event(?:_\d+)?|outbox|attempt|webhook_endpoint|endpoint_sequence"
    r"|discard|redrive_job)\b"
)


class Violation(NamedTuple):
    """What does not hold, and how to see it again: `Matrix.play` with these."""

    start: str
    first: str
    second: str
    order: Order
    patient: bool
    what: str


class Matrix:
    """The pairs of one start, and what came of them."""

    def __init__(self, name: str, wire: Wire, url: str) -> None:
        self.name, self._wire, self._url = name, wire, url
        self.pairs: set[frozenset[str]] = set()
        self.orders = 0
        self.violations: list[Violation] = []
        self.texts: dict[str, set[str]] = {}
        self._seen: set[tuple[object, ...]] = set()

    @property
    def ends(self) -> int:
        """How many different ends there were, each brought to its end."""
        return len(self._seen)

    async def begin(self) -> None:
        """Make the start."""
        await db.rows("SELECT test_clock.empty_tables()")
        self.start: Start = await STARTS[self.name](self._url)
        self.start.name = self.name
        await kept.keep()

    async def run(self, *, everything: bool = False) -> None:
        """Let every two operations meet that may come in this start, or in no start together, but the first in this;
        `everything`: all.
        """
        for first, second in product(OPERATIONS.values(), repeat=2):
            if everything or self.name in (first.starts & second.starts or {max(first.starts)}):
                await self._meet(first, second)

    async def _meet(self, first: Operation, second: Operation) -> None:
        """The first stops before each of its steps, and the second then goes first."""
        self.pairs.add(frozenset((first.name, second.name)))
        await each_order(partial(self.play, first, second))

    async def play(self, first: Operation, second: Operation, order: Order, patient: bool) -> tuple[Session, Session]:
        """Run two operations from the start in an order, and look at what came of them."""
        await kept.restore()
        case = Case(self.start)
        works = [partial(one.work, case) for one in (first, second)]
        sessions = await interleave(works, TABLES, order, patient=patient)
        self.orders += 1
        violate = partial(Violation, self.name, first.name, second.name, order, patient)
        for operation, session in zip((first, second), sessions, strict=True):
            self.texts.setdefault(operation.name, set()).update(session.texts)
            error = session.error()
            if error is not None and not isinstance(error, operation.refuses):
                self.violations.append(violate(f"{operation.name} raised {error!r}"))
        self.violations += map(violate, await self._look(case, frozenset((first.name, second.name, self.name))))
        return sessions

    async def _look(self, case: Case, done: frozenset[str]) -> list[str]:
        found = checks.sent_twice(case)
        end = (await checks.state(), frozenset(case.jobs), done & checks.EXCUSES)
        if end in self._seen:
            return found
        self._seen.add(end)
        try:
            found += await checks.broken(case.start, self._wire, done)
            await case.settle()
            found += checks.sent_twice(case)
            found += await checks.ends(case.start, self._wire, done)
        except Exception as error:  # noqa: BLE001 - whatever it is, the others are tried
            found.append(f"no end: {error!r}")
        return found
