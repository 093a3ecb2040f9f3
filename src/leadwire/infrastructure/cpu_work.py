"""CPU-bound work, such as reading a large flow: in a thread, one at a time, so that the event loop goes on."""

import asyncio
from collections.abc import Callable
from typing import Final, ParamSpec, TypeVar
from weakref import WeakValueDictionary

from leadwire.infrastructure import db

P = ParamSpec("P")
T = TypeVar("T")

_thread: Final = asyncio.Semaphore(1)  # threads share the interpreter: several at once would slow the loop down as well
_turns: Final[WeakValueDictionary[str, asyncio.Semaphore]] = WeakValueDictionary()  # by workspace


async def run(work: Callable[P, T], *args: P.args, **kwargs: P.kwargs) -> T:
    """Return what `work` returns. Workspaces take turns. Raise what it raises; RuntimeError in a transaction, which
    would be open, with its locks, for as long as others' work takes.
    """
    if db.in_transaction():
        raise RuntimeError("work that takes long belongs before the transaction")
    turn = _turns.setdefault(db.workspace.get(), asyncio.Semaphore(1))
    async with turn, _thread:
        return await asyncio.to_thread(work, *args, **kwargs)
