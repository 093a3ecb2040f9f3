"""How fast events become stream entries, and how fast they leave: everything committed beforehand."""

import asyncio
import contextlib
import resource
import time
from typing import NamedTuple

from leadwire.delivery import streams
from leadwire.delivery.relay.loop import Relay
from leadwire.infrastructure import db
from leadwire.infrastructure.settings import Settings
from ops.bench.delivery import world
from ops.bench.delivery.process import LEAST_CPU, Process
from ops.bench.delivery.sink import Sink
from ops.bench.delivery.world import Counts

_ENDPOINTS = 80
_RECEIVERS = 20


class Speed(NamedTuple):
    """Per second, and microseconds of CPU each."""

    rate: float
    cpu: float


class Drained(NamedTuple):
    """Deliveries per second and microseconds of worker CPU each, without the start; of relay CPU and what the servers
    did for each, with the start.
    """

    rate: float
    cpu: float
    relay_cpu: float
    transactions: float
    wal: float
    commands: float
    memory: float  # of the largest worker at the end, MB


async def relay(chosen: Settings) -> Speed:
    """One relay, and events that were left to it for endpoints that are open: every one becomes a stream entry."""
    await world.fresh()
    count = _ENDPOINTS * 256
    owners = await world.workspaces(["http://127.0.0.1:8999/"] * _ENDPOINTS)
    await world.open_endpoints()
    await world.commit(owners, count)
    await db.rows("ANALYZE")
    one = Relay(world.redis(), chosen)
    await one.fan_out()  # prepares statements
    left = await db.value("SELECT count(*) FROM outbox")
    start, before = time.perf_counter(), own_cpu()
    while await db.value("SELECT EXISTS (SELECT 1 FROM outbox)"):
        await one.fan_out()
    took, cpu = time.perf_counter() - start, own_cpu() - before
    streamed = sum([await world.redis().xlen(name) for name in streams.names(chosen.stream_shards)])
    assert streamed == count, f"{streamed} of {count} were streamed"
    return Speed(left / took, cpu / left * 1e6)


async def drain(sink: Sink, count: int, workers: int = 1, manner: str = "hook") -> Drained:
    """Real relay and worker processes, until everything committed beforehand has arrived."""
    await world.fresh()
    owners = await world.workspaces([sink.url(manner)] * _RECEIVERS)
    await world.open_endpoints()
    await world.commit(owners, count)
    await db.rows("ANALYZE")
    base, counted = await sink.count(), await Counts.now()
    async with contextlib.AsyncExitStack() as stack:
        relay = await stack.enter_async_context(Process("relay"))
        team = [await stack.enter_async_context(Process("deliver")) for _ in range(workers)]
        while await sink.count() - base < count // 10:  # past the start
            await asyncio.sleep(0.01)
        first, start, before = await sink.count(), time.perf_counter(), sum(worker.cpu() for worker in team)
        while await sink.count() - base < count:
            await asyncio.sleep(0.02)
        took, done = time.perf_counter() - start, count - (first - base)
        while await db.value("SELECT EXISTS (SELECT 1 FROM delivery)"):
            await asyncio.sleep(0.02)
        used = [(now - then) / count for now, then in zip(await Counts.now(), counted, strict=True)]
        cpu = max(sum(worker.cpu() for worker in team) - before, LEAST_CPU)
        memory = max(worker.memory() for worker in team)
        return Drained(done / took, cpu / done * 1e6, relay.cpu() / count * 1e6, *used, memory)


def own_cpu() -> float:
    """Seconds of CPU of this process so far."""
    used = resource.getrusage(resource.RUSAGE_SELF)
    return used.ru_utime + used.ru_stime
