"""A long, steady run: does any process grow?"""

import asyncio
import time
from collections.abc import AsyncIterator

from ops.bench.delivery import world
from ops.bench.delivery.process import Process
from ops.bench.delivery.sink import Sink

_ENDPOINTS = 20


async def soak(rate: float, minutes: float) -> AsyncIterator[str]:
    """A line a minute: resident MB of each process and of Redis, and what has arrived."""
    await world.fresh()
    async with Sink() as sink, Process("relay") as relay, Process("deliver") as one, Process("deliver") as two:
        owners = await world.workspaces([sink.url()] * _ENDPOINTS)
        load = asyncio.create_task(world.steady(owners, rate, minutes * 60))
        start = time.monotonic()
        while not load.done():
            await asyncio.wait([load], timeout=60)
            await sink.seen()  # or the receiver would grow
            told = await world.redis().info("memory")
            yield (
                f"{(time.monotonic() - start) / 60:4.0f} min: relay {relay.memory():.1f} MB, workers "
                f"{one.memory():.1f} and {two.memory():.1f} MB, Redis {told['used_memory'] / 2**20:.1f} MB, "
                f"{await sink.count()} deliveries"
            )
        committed = len(load.result())
        while await sink.count() < committed:
            await asyncio.sleep(0.1)
        yield f"{committed} committed, all delivered"
