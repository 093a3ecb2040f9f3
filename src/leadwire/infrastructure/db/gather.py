"""Changes of one kind made together: those that come while one is being committed share the next statement."""

import asyncio
from collections.abc import Awaitable, Callable, Sequence
from typing import Final, Generic, TypeVar

from leadwire.infrastructure import db

M = TypeVar("M")
A = TypeVar("A")

_MOST: Final = 64  # members of a statement


class Gathered(Generic[M, A]):
    """Runs members, and gives each its own answer or error. Nobody waits for company.

    `run` takes members in one statement, so that all take effect or none, and returns an answer for each, in order.
    When the values of one are refused, each of them runs alone.
    """

    def __init__(self, run: Callable[[Sequence[M]], Awaitable[Sequence[A]]], at_once: int = 2) -> None:
        self._run = run
        self._free = at_once  # one statement is made while another waits for the disk
        self._waiting: list[tuple[M, asyncio.Future[A]]] = []
        self._tasks: set[asyncio.Task[None]] = set()

    async def __call__(self, member: M) -> A:
        """Return the answer for `member`. Raise what running it raises."""
        if not self._free:
            answer: asyncio.Future[A] = asyncio.get_running_loop().create_future()
            self._waiting.append((member, answer))
            return await answer
        self._free -= 1
        try:
            return (await self._run([member]))[0]
        finally:
            self._next()

    def _next(self) -> None:
        """Run those that have come meanwhile, in a task of their own: no request ends for all of them."""
        self._free += 1
        if self._waiting:
            self._free -= 1
            members = self._waiting[:_MOST]
            del self._waiting[:_MOST]
            task = asyncio.create_task(self._together([one for one in members if not one[1].done()]))
            self._tasks.add(task)
            task.add_done_callback(self._tasks.discard)

    async def _together(self, members: Sequence[tuple[M, asyncio.Future[A]]]) -> None:
        try:
            if members and not await self._settle(members):
                for one in members:
                    await self._settle([one])
        finally:
            self._next()

    async def _settle(self, members: Sequence[tuple[M, asyncio.Future[A]]]) -> bool:
        """Give each its answer. Return False when one of several was refused, so that none has taken effect."""
        try:
            answers = await self._run([member for member, _ in members])
        except BaseException as error:
            if isinstance(error, db.UNSTORABLE) and len(members) > 1:
                return False
            for _, answer in members:
                if not answer.done():
                    answer.set_exception(error) if isinstance(error, Exception) else answer.cancel()
            if not isinstance(error, Exception):
                raise
            return True
        for (_, answer), found in zip(members, answers, strict=True):
            if not answer.done():
                answer.set_result(found)
        return True
