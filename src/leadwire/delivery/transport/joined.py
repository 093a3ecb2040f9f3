"""What is under way, one piece of work for a key."""

import asyncio
import functools
from collections.abc import Awaitable, Callable, Hashable
from typing import TypeVar

T = TypeVar("T")


class Joined(dict[Hashable, asyncio.Future[T]]):
    """The work by its key. It goes on when whoever waits for it gives up or is canceled."""

    async def join(self, key: Hashable, begin: Callable[[], Awaitable[T]]) -> T:
        """Return what the work with this key comes to; `begin` it if it is not under way."""
        work = self.get(key)
        if work is None:
            work = self[key] = asyncio.ensure_future(begin())
            work.add_done_callback(functools.partial(self._ended, key))
        return await asyncio.shield(work)

    def _ended(self, key: Hashable, work: asyncio.Future[T]) -> None:
        del self[key]
        if not work.cancelled():
            work.exception()  # perhaps nobody waits for it any more, and asyncio would complain of it
