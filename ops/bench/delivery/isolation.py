"""How much failing endpoints slow down the others."""

import asyncio
import statistics
from collections.abc import Sequence
from typing import NamedTuple

from leadwire.infrastructure import db
from ops.bench.delivery import world
from ops.bench.delivery.process import Process
from ops.bench.delivery.sink import Sink

_HEALTHY = 16
BAD = ("hang", "reset", "reset", "reset")


class Healthy(NamedTuple):
    """Milliseconds from commit to arrival at the healthy endpoints."""

    p50: float
    p95: float
    p99: float
    longest: float
    events: int


class Backlog(NamedTuple):
    """A dead endpoint's. Redis in MB and stream entries; the healthy ones meanwhile."""

    before: float
    largest: float
    entries: int
    owed: int
    healthy: Healthy


async def neighbors(rate: float, seconds: float, bad: Sequence[str] = BAD) -> Healthy:
    """20 endpoints under `rate` events a second; those in `bad` misbehave, or are healthy too when it is empty."""
    await world.fresh()
    manners = ["hook"] * _HEALTHY + list(bad or ["hook"] * len(BAD))
    async with Sink() as sink, Process("relay"), Process("deliver"):
        owners = await world.workspaces([sink.url(manner) for manner in manners])
        await _warm(sink, owners)
        committed = await world.steady(owners, rate, seconds)
        return await _healthy(sink, committed, set(owners[:_HEALTHY]))


async def backlog(count: int) -> Backlog:
    """An endpoint that refuses connections is owed `count` at once, while others get 100 events a second."""
    await world.fresh()
    async with Sink() as sink, Process("relay"), Process("deliver"):
        dead, *others = await world.workspaces(["http://127.0.0.1:8999/", *[sink.url()] * _HEALTHY])
        await _warm(sink, others)
        before = await _redis_mb()
        for _ in range(count // 20_000):
            await world.commit([dead], 20_000)
        sizes: list[tuple[float, int]] = []
        watching = asyncio.create_task(_watch(sizes))
        committed = await world.steady(others, 100, 60)
        healthy = await _healthy(sink, committed, set(others))
        watching.cancel()
        owed = count - await db.value(
            """SELECT count(*) FROM outbox_event v WHERE workspace_id = $1
                 AND EXISTS (SELECT 1 FROM delivery d WHERE d.event_id = v.id AND d.state = 'delivered')""",
            dead,
        )
    return Backlog(before, max(size for size, _ in sizes), max(entries for _, entries in sizes), owed, healthy)


async def _warm(sink: Sink, owners: Sequence[str]) -> None:
    """Both processes are up when one event has arrived from each healthy endpoint."""
    committed = await world.commit(owners[:_HEALTHY], _HEALTHY)
    arrived: set[str] = set()
    while not arrived.issuperset(committed):
        arrived |= (await sink.seen()).keys()
        await asyncio.sleep(0.05)


async def _healthy(sink: Sink, committed: dict[str, tuple[str, float]], healthy: set[str]) -> Healthy:
    wanted = {event: at for event, (owner, at) in committed.items() if owner in healthy}
    arrived: dict[str, float] = {}
    while wanted.keys() - arrived.keys():
        arrived |= await sink.seen()
        await asyncio.sleep(0.1)
    lags = [(arrived[event] - at) * 1e3 for event, at in wanted.items()]
    cuts = statistics.quantiles(lags, n=100)
    return Healthy(cuts[49], cuts[94], cuts[98], max(lags), len(lags))


async def _watch(sizes: list[tuple[float, int]]) -> None:
    while True:
        entries = sum([await world.redis().xlen(f"leadwire:{{deliveries:{shard}}}") for shard in range(4)])
        sizes.append((await _redis_mb(), entries))
        await asyncio.sleep(0.5)


async def _redis_mb() -> float:
    told = await world.redis().info("memory")
    return float(told["used_memory"]) / 2**20
