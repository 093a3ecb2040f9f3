"""CPU-bound work, such as reading a large flow: apart from the event loop, so that it goes on, and one at a time."""

import asyncio
from collections.abc import Callable
from typing import Final, ParamSpec, TypeVar
from weakref import WeakValueDictionary

from leadwire.infrastructure import apart, db

P = ParamSpec("P")
T = TypeVar("T")

LARGE: Final = 32 * 1024
"""Characters; the worst text that is known and not longer takes 0.12 s."""
_thread: Final = asyncio.Semaphore(1)  # threads share the interpreter: several at once would slow the loop down as well
_process: Final = asyncio.Semaphore(1)  # who waits for it waits here: it holds up no thread, and nobody's short work
_turns: Final[WeakValueDictionary[str, asyncio.Semaphore]] = WeakValueDictionary()  # by workspace


async def run(work: Callable[P, T], *args: P.args, **kwargs: P.kwargs) -> T:
    """Return what `work` returns. Workspaces take turns. Raise what it raises; RuntimeError in a transaction, which
    would be open, with its locks, for as long as others' work takes.
    """
    return await _run(_thread, lambda: work(*args, **kwargs))


async def of_text(text: str, work: Callable[P, T], *args: P.args, **kwargs: P.kwargs) -> T:
    """As `run`, for work that takes as long as a customer's text makes it. Where that is large, it is done in a process
    that can be ended: `work` is then a function that can be imported. Raise apart.TooHeavy.
    """
    if len(text) <= LARGE:
        return await run(work, *args, **kwargs)
    return await _run(_process, lambda: apart.call(work, *args, **kwargs))


async def _run(slot: asyncio.Semaphore, work: Callable[[], T]) -> T:
    if db.in_transaction():
        raise RuntimeError("work that takes long belongs before the transaction")
    turn = _turns.setdefault(db.workspace.get(), asyncio.Semaphore(1))
    async with turn, slot:
        return await asyncio.to_thread(work)
