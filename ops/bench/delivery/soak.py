"""A long, steady run: does any process grow, or any table of open work?"""

import asyncio
import time
from collections.abc import AsyncIterator

from leadwire.infrastructure import db
from ops.bench.delivery import world
from ops.bench.delivery.process import Process
from ops.bench.delivery.sink import Sink

_ENDPOINTS = 20
_TABLES = ("delivery", "outbox", "webhook_endpoint", "endpoint_sequence", "endpoint_hour")  # rows change and go


async def soak(rate: float, minutes: float) -> AsyncIterator[str]:
    """A line a minute: resident MB of each process and of Redis, what has arrived, and kB of tables and indexes."""
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
                f"{await sink.count()} deliveries; {await _sizes()}"
            )
        committed = len(load.result())
        while await sink.count() < committed:
            await asyncio.sleep(0.1)
        yield f"{committed} committed, all delivered"


async def _sizes() -> str:
    """kB of each table that is vacuumed, table + indexes, and how often autovacuum has been there."""
    rows = await db.rows(
        """SELECT relname, pg_table_size(relid) / 1024 AS heap, pg_indexes_size(relid) / 1024 AS indexes,
               autovacuum_count AS vacuumed
           FROM pg_stat_user_tables WHERE relname = ANY($1) ORDER BY array_position($1::text[], relname::text)""",
        list(_TABLES),
    )
    return ", ".join(f"{name} {heap} + {indexes} kB ({vacuumed} vacuums)" for name, heap, indexes, vacuumed in rows)
