"""The cost of a change itself, without delivery: real changes, one transaction each, nothing else running."""

import asyncio
import time
from typing import Final, NamedTuple

from leadwire.domain.accounts import changes as accounts
from leadwire.domain.bots import changes as bots
from leadwire.domain.conversations import changes as conversations
from leadwire.domain.conversations.schema import Origin
from leadwire.infrastructure import db
from ops.bench.delivery import world
from ops.bench.delivery.speed import own_cpu
from ops.bench.delivery.steps import postgres_cpu, size
from ops.bench.delivery.world import Counts

_WRITERS: Final = 8
_TALKS: Final = 50


class Cost(NamedTuple):
    """Of one change: microseconds of CPU here and in PostgreSQL, bytes of WAL and of disk; and how many a second."""

    ours: float
    postgres: float
    wal: float
    disk: float
    rate: float


async def change(count: int) -> Cost:
    """So many messages of a bot, by a few writers at once, as the API makes them but without HTTP."""
    await world.fresh()
    workspace = await accounts.create_workspace("bench")
    bot = await bots.create(workspace, "bench")
    talks = [await conversations.start(workspace, bot, Origin()) for _ in range(_TALKS)]

    async def write(first: int) -> None:
        for number in range(first, count, _WRITERS):
            await conversations.add_message(workspace, talks[number % _TALKS], "bot", f"line {number}")

    before = (own_cpu(), await postgres_cpu(), (await Counts.now()).wal, await size())
    start = time.perf_counter()
    await asyncio.gather(*(write(first) for first in range(_WRITERS)))
    took = time.perf_counter() - start
    after = (own_cpu(), await postgres_cpu(), (await Counts.now()).wal, await size())
    ours, postgres, wal, disk = ((now - then) / count for now, then in zip(after, before, strict=True))
    assert await db.value("SELECT count(*) >= $1 FROM event", count)
    return Cost(ours * 1e6, postgres * 1e6, wal, disk, count / took)
