"""Changes of one kind made together: those that come while others are being committed share the next statement."""

import asyncio
import operator
from collections import Counter
from collections.abc import Awaitable, Callable, Sequence
from typing import Final, Generic, NamedTuple, TypeVar

from leadwire.infrastructure import db
from leadwire.infrastructure.db.shares import workspace

M = TypeVar("M")
A = TypeVar("A")

_MOST: Final = 64  # members of a statement


class _Waiting(NamedTuple, Generic[M, A]):
    member: M
    answer: asyncio.Future[A]
    workspace: str


class Gathered(Generic[M, A]):
    """Runs members, and gives each its own answer or error. Nobody waits for company.

    `run` takes members in one statement, so that all take effect or none, and returns an answer for each, in order.
    When the values of one are refused, each of them runs alone. Workspaces take turns, and a statement is no
    workspace's own: it waits for nobody's share of the connections.
    """

    def __init__(self, run: Callable[[Sequence[M]], Awaitable[Sequence[A]]], at_once: int = 2) -> None:
        self._run = run
        self._free = at_once  # one statement is made while another waits for the disk
        self._waiting: list[_Waiting[M, A]] = []
        self._tasks: set[asyncio.Task[None]] = set()

    async def __call__(self, member: M) -> A:
        """Return the answer for `member`. Raise what running it raises."""
        if not self._free:
            answer: asyncio.Future[A] = asyncio.get_running_loop().create_future()
            self._waiting.append(_Waiting(member, answer, workspace.get()))
            return await answer
        self._free -= 1
        try:
            with db.acting_as("api"):
                return (await self._run([member]))[0]
        finally:
            self._next()

    def _next(self) -> None:
        """Run those that have come meanwhile. In a task of its own, so that no canceled request ends it."""
        self._free += 1
        if self._waiting:
            self._free -= 1
            members, self._waiting = self._turn()
            task = asyncio.create_task(self._together(members))
            self._tasks.add(task)
            task.add_done_callback(self._tasks.discard)

    def _turn(self) -> tuple[list[_Waiting[M, A]], list[_Waiting[M, A]]]:
        """Whose turn it is, and who still has to wait: the first of each workspace, then the second of each."""
        counts: Counter[str] = Counter()
        turns = []
        for waiter in self._waiting:
            if not waiter.answer.done():
                turns.append((counts[waiter.workspace], waiter))
                counts[waiter.workspace] += 1
        turns.sort(key=operator.itemgetter(0))
        waiting = [waiter for _, waiter in turns]
        return waiting[:_MOST], waiting[_MOST:]

    async def _together(self, members: Sequence[_Waiting[M, A]]) -> None:
        try:
            if members and not await self._settle(members):
                for member in members:
                    await self._settle([member])
        finally:
            self._next()

    async def _settle(self, members: Sequence[_Waiting[M, A]]) -> bool:
        """Give each its answer. Return False when one of several was refused, so that none has taken effect."""
        try:
            with db.acting_as("api"):
                answers = await self._run([member.member for member in members])
        except BaseException as error:
            if isinstance(error, db.UNSTORABLE) and len(members) > 1:
                return False
            for waiter in members:
                if not waiter.answer.done():
                    waiter.answer.set_exception(error) if isinstance(error, Exception) else waiter.answer.cancel()
            if not isinstance(error, Exception):
                raise
            return True
        for waiter, answer in zip(members, answers, strict=True):
            if not waiter.answer.done():
                waiter.answer.set_result(answer)
        return True
