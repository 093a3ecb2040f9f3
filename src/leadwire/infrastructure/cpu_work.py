"""CPU-bound work, such as reading a large flow: in a thread, one at a time, so that the event loop goes on."""

import asyncio
from collections.abc import Callable
from typing import Final, ParamSpec, TypeVar

P = ParamSpec("P")
T = TypeVar("T")

_turn: Final = asyncio.Semaphore(1)  # threads share the interpreter: several at once would slow the loop down as well


async def run(work: Callable[P, T], *args: P.args, **kwargs: P.kwargs) -> T:
    """Return what `work` returns. Raise what it raises."""
    async with _turn:
        return await asyncio.to_thread(work, *args, **kwargs)
