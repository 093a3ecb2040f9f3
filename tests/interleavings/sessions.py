"""Two sessions whose statements a test puts into any order, as PostgreSQL's own isolation tester does.

A step is a statement, the first with its BEGIN, or COMMIT. A change that is a transaction by itself is two steps, the
change and its COMMIT, so that it can be held open, too. Whether a session waits for a lock is asked of
PostgreSQL, and nothing is guessed from time.
"""

import asyncio
import contextvars
import functools
import re
from collections.abc import Awaitable, Callable, Sequence
from contextvars import ContextVar
from typing import Any, Final

import asyncpg

from leadwire.delivery import outbox
from leadwire.infrastructure import db
from leadwire.infrastructure.db.gather import Gathered
from leadwire.infrastructure.db.pool import Connection

Work = Callable[[], Awaitable[object]]
Order = Sequence[tuple[int, int]]
"""Which of two sessions takes how many steps, one after the other."""

_BLOCKED: Final = "SELECT cardinality(pg_blocking_pids($1)) > 0"
_LOOK_AFTER: Final = 0.005  # seconds without a word from a session
_TRANSACTION: Final = re.compile(r"BEGIN|COMMIT|ROLLBACK")
_CHANGE: Final = re.compile(r"\b(?:INSERT|UPDATE|DELETE|FOR (?:NO KEY )?UPDATE|FOR SHARE)\b")

_session: ContextVar["Session | None"] = ContextVar("session", default=None)


class Session:
    """Runs `work`, and stops before each statement that names one of `tables`, until it is told to go on.

    One that is not `patient` gives up at once where the work sets a `lock_timeout`.
    """

    def __init__(self, work: Work, tables: re.Pattern[str], *, patient: bool = True) -> None:
        self.steps: list[str] = []
        self.texts: set[str] = set()
        self.waits = False  # for a lock
        self.has_waited = False
        self.has_limit = False  # has set a lock_timeout
        self._limited = False
        self._begun = False  # a transaction, with the next statement
        self._tables, self._patient = tables, patient
        self._came, self._go = asyncio.Event(), asyncio.Event()
        self._turn = asyncio.Lock()  # of what the work begins at once
        self._pid = 0
        context = contextvars.Context()
        context.run(_session.set, self)
        self._task = asyncio.get_running_loop().create_task(_awaited(work), context=context)
        self._task.add_done_callback(lambda _: self._came.set())

    @property
    def done(self) -> bool:
        return self._task.done()

    def error(self) -> BaseException | None:
        """What the work has raised."""
        return self._task.exception()

    async def step(self) -> None:
        """Let it say what it has stopped before."""
        self._came.clear()
        self._go.set()
        await self.settle()

    async def settle(self) -> None:
        """Wait until it stops before its next step, ends, or waits for a lock."""
        self.waits = False
        while not await self._has_come():
            if not (self._limited and not self._patient) and self._pid and await db.value(_BLOCKED, self._pid):
                self.waits = self.has_waited = True
                return

    async def _has_come(self) -> bool:
        try:
            async with asyncio.timeout(_LOOK_AFTER):
                await self._came.wait()
        except TimeoutError:
            return False
        return True

    async def say(self, connection: Any, send: Callable[..., Awaitable[Any]], text: str, *args: Any, **options: Any):
        """Send a text on a connection, when it is this session's turn."""
        async with self._turn:
            return await self._say(connection, send, text, *args, **options)

    async def _say(self, connection: Any, send: Callable[..., Awaitable[Any]], text: str, *args: Any, **options: Any):
        self._pid = connection.get_server_pid()
        ends = _TRANSACTION.match(text)
        if ends is None and not self._tables.search(text):
            answer = await send(connection, text, *args, **options)
            if "lock_timeout" in text:
                await self._limit(connection)
            return answer
        if not self._begun:
            await self._stop(text)
        self._begun = bool(ends and ends[0].startswith("B"))
        self.texts.add(text)
        if ends or connection.is_in_transaction() or not _CHANGE.search(text):
            self._limited = self._limited and not ends
            return await send(connection, text, *args, **options)
        await asyncpg.Connection.execute(connection, "BEGIN")
        try:
            answer = await send(connection, text, *args, **options)
        except BaseException:
            await asyncpg.Connection.execute(connection, "ROLLBACK")
            raise
        await self._stop("COMMIT")
        await asyncpg.Connection.execute(connection, "COMMIT")
        return answer

    async def _stop(self, text: str) -> None:
        self.steps.append(text)
        self._came.set()
        await self._go.wait()
        self._go.clear()

    async def _limit(self, connection: Any) -> None:
        self.has_limit = self._limited = True
        if not self._patient:
            await asyncpg.Connection.execute(connection, "SET LOCAL lock_timeout = '1ms'")


async def _awaited(work: Work) -> None:
    await work()


async def interleave(
    works: Sequence[Work], tables: re.Pattern[str], order: Order, *, patient: bool = True
) -> tuple[Session, Session]:
    """Run two works. After `order`, the one that it names last goes second.

    A session that waits for a lock takes no step until it has got it. Return both sessions when they have ended.
    """
    sessions = Session(works[0], tables), Session(works[1], tables, patient=patient)
    for session in sessions:
        await session.settle()
    for which, count in order:
        for _ in range(count):
            if not (sessions[which].done or sessions[which].waits):
                await sessions[which].step()
    last = order[-1][0]
    turns = sessions[1 - last], sessions[last]
    while not all(session.done for session in sessions):
        for session in turns:
            if session.waits:
                await session.settle()
            if not (session.done or session.waits):
                await session.step()
                break
    return sessions


async def each_order(play: Callable[[Order, bool], Awaitable[tuple[Session, Session]]]) -> None:
    """Play with the first session held before each of its steps in turn, and with a second one that gives up, too.

    `play` takes an order and whether the second session is patient, see `interleave`.
    """
    held, steps = 1, 2
    while held < steps:
        order = ((0, held),)
        first, second = await play(order, True)
        if second.has_waited and second.has_limit:
            await play(order, False)
        held, steps = held + 1, len(first.steps)


def install(monkeypatch) -> None:
    """Let connections say what a session says when it is that session's turn. Sessions share no statement, as those of
    two processes.
    """
    for name in ("fetch", "execute"):
        monkeypatch.setattr(Connection, name, _in_turn(getattr(Connection, name)))
    monkeypatch.setattr(outbox, "_gathered", lambda change: _gathered(_session.get(), change))


@functools.lru_cache(maxsize=16)
def _gathered(_: Session | None, change):
    return Gathered(functools.partial(outbox._write, change))


def _in_turn(send):
    async def said(connection, text, *args, **options):
        session = _session.get()
        if session is None:
            return await send(connection, text, *args, **options)
        return await session.say(connection, send, text, *args, **options)

    return said
