"""Two things at once, in an order that the test decides."""

import asyncio
import contextlib
import contextvars
from collections.abc import Awaitable, Callable, Coroutine, Iterator
from typing import Any, TypeVar

import pytest

from leadwire.delivery.endpoints import due
from leadwire.delivery.relay import fan_out
from leadwire.domain.accounts.changes import team
from leadwire.infrastructure import db
from leadwire.infrastructure.db.statements import Statement, sql
from tests.waiting import eventually

T = TypeVar("T")

_LOCKED = "SELECT count(*) > 0 FROM pg_stat_activity WHERE wait_event_type = 'Lock' AND datname = current_database()"


def apart(work: Coroutine[Any, Any, T]) -> asyncio.Task[T]:
    """Begin `work` outside of the transaction that is open here."""
    return asyncio.get_running_loop().create_task(work, context=contextvars.Context())


@contextlib.contextmanager
def patient() -> Iterator[None]:
    """Let whoever waits for a lock get it, however long a busy machine takes: it would give up after 0.1 or 0.2 s."""
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(due, "PATIENCE", sql("SELECT set_config('lock_timeout', '4min', true)"))
        patch.setattr(fan_out, "_PATIENCE", "4min")
        patch.setattr(team, "_PATIENCE", due.PATIENCE)
        yield


async def blocked() -> None:
    """Wait until a statement waits for a lock."""
    await eventually(_is_blocked)


async def ended_or_blocked(task: asyncio.Task[Any]) -> None:
    """Wait until `task` has ended or a statement waits for a lock."""
    await eventually(lambda: task.done() or _is_blocked())


async def overlapped(first: Callable[[], Awaitable[object]], second: Callable[[], Coroutine[Any, Any, Any]]) -> None:
    """Run both: the second begins, and ends or waits for the first, before the first has committed.

    Raise what the second raises.
    """
    with patient():
        async with db.transaction():
            await first()
            begun = apart(second())
            await ended_or_blocked(begun)
        await begun


async def _is_blocked() -> bool:
    return bool(await apart(db.value(_LOCKED)))


class Held:
    """In place of a statement: it waits before it runs, until the test says `go`."""

    def __init__(self, statement: Statement) -> None:
        self._statement = statement
        self.reached, self.go = asyncio.Event(), asyncio.Event()

    async def rows(self, **values: Any) -> list[db.Row]:
        self.reached.set()
        await self.go.wait()
        return await self._statement.rows(**values)
