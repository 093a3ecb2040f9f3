"""Numbers without gaps for the deliveries of an endpoint that asks for them, in the order of first attempts.

A number is on disk before it is sent: else a crash of PostgreSQL could give it to another delivery. So this is a
transaction of its own after the claim, and deliveries of other endpoints do not wait for it.
"""

import asyncio
import functools
import time
from collections.abc import Sequence

from leadwire.delivery.streams import Key
from leadwire.delivery.worker.claim import asked
from leadwire.delivery.worker.observe import Liveness
from leadwire.delivery.worker.recorder import persist
from leadwire.infrastructure import db
from leadwire.infrastructure.batches import apart
from leadwire.infrastructure.db.statements import lists, named

_LOCK, _NUMBER = named(__file__, "lock number")


async def number(keys: Sequence[Key], owner: str) -> dict[tuple[str, str], int]:
    """Number deliveries that `owner` has claimed. Return their numbers, by event and endpoint.

    Those that are gone, or that somebody else has locked, are missing: they must not be sent.
    """
    async with db.transaction():
        rows = await _LOCK.rows(**asked(keys), owner=owner)
        numbered = [row for row in rows if row["sequence"] is not None]  # by a transaction whose answer was lost
        if fresh := [row for row in rows if row["sequence"] is None]:
            numbered += await _NUMBER.rows(**lists("events endpoints", [row[:2] for row in fresh]))
    return {(row["event_id"], row["endpoint_id"]): row["sequence"] for row in numbered}


class Numbering:
    """Numbers the deliveries of one worker. What comes while it waits for the disk shares the next transaction."""

    def __init__(self, owner: str, liveness: Liveness) -> None:
        self._owner, self._liveness = owner, liveness
        self._asked: dict[Key, asyncio.Future[int | None]] = {}
        self._task: asyncio.Task[None] | None = None

    async def of(self, key: Key, stop: asyncio.Event) -> int | None:
        """Return the number of a claimed delivery, or None when it must not be sent. Raise what the database does."""
        future: asyncio.Future[int | None] = asyncio.get_running_loop().create_future()
        self._asked[key] = future
        if self._task is None or self._task.done():
            self._task = asyncio.create_task(self._run(stop))
        return await future

    async def _run(self, stop: asyncio.Event) -> None:
        while self._asked:
            asked, self._asked = self._asked, {}

            async def work(keys: Sequence[Key], waiting: dict[Key, asyncio.Future[int | None]] = asked) -> None:
                numbers = await persist(functools.partial(self._number, keys), self._liveness, stop) or {}
                for key in keys:
                    waiting[key].set_result(numbers.get(key[:2]))

            for key, error in await apart(list(asked), work):
                asked[key].set_exception(error)

    async def _number(self, keys: Sequence[Key]) -> dict[tuple[str, str], int]:
        self._liveness.moved = time.monotonic()  # these POSTs cannot end while the database refuses us
        return await number(keys, self._owner)
