"""What endpoints that misbehave cost another customer, whose receiver is a process of its own: in the field it is
somebody else's machine.
"""

import asyncio
import contextlib
import multiprocessing
import os
import statistics
import sys
from collections.abc import AsyncIterator, Iterator
from typing import Final, NamedTuple

from leadwire.infrastructure import db
from ops.bench.delivery import hanging_dns, world
from ops.bench.delivery.process import Process
from ops.bench.delivery.sink import Sink

MANNERS: Final = ("hang", "late", "reset", "dns")
"""What bad receivers do: never answer; answer 204 after 4 s; cut the connection; have a name that is never found."""
COUNTS: Final = (1, 12, 100)
"""So many of them."""
_OWED: Final = 400  # events of each bad endpoint
_MOST: Final = 20_000  # of all of them
_RATE: Final = 20.0  # events a second of the quiet endpoint
_OTHERS: Final = 16
_WORKER: Final = (sys.executable, "-m", "ops.bench.delivery.hanging_dns")


class Lags(NamedTuple):
    """Milliseconds from commit to arrival."""

    p50: float
    p99: float
    longest: float
    events: int


class Isolation(NamedTuple):
    """One quiet endpoint alone, and then beside `count` endpoints that are owed events and misbehave."""

    manner: str
    count: int
    idle: Lags
    beside: Lags


class Bar(NamedTuple):
    """What a quiet endpoint's p50 beside others may be, as a multiple of its p50 alone, both beside the same loops."""

    beside: str
    alone: Lags
    together: Lags
    most: float

    @property
    def times(self) -> float:
        """That multiple."""
        return self.together.p50 / self.alone.p50


class Backlog(NamedTuple):
    """A dead endpoint's. Redis in MB and stream entries; the healthy ones meanwhile."""

    before: float
    largest: float
    entries: int
    owed: int
    healthy: Lags


async def isolation(seconds: float) -> AsyncIterator[Isolation]:
    """Every manner with every count, each on fresh tables with processes of its own; `seconds` for each half."""
    async with Sink() as sink, Sink() as theirs:
        for manner in MANNERS:
            for count in COUNTS:
                yield await _beside(sink, theirs, manner, count, seconds)


async def _beside(sink: Sink, theirs: Sink, manner: str, count: int, seconds: float) -> Isolation:
    await world.fresh()
    async with Process("relay"), Process("deliver", _WORKER) as worker:
        urls = [hanging_dns.url(n) if manner == "dns" else theirs.url(f"{manner}/{n}") for n in range(count)]
        quiet, *bad = await world.workspaces([sink.url(host="localhost"), *urls])
        await warm(sink, [quiet])
        idle = await lags(sink, await world.steady([quiet], _RATE, seconds), {quiet})
        await world.commit(bad, min(_OWED * count, _MOST))
        load = asyncio.create_task(world.steady(bad, count / 2, seconds))  # what comes new while a backlog waits
        beside = await lags(sink, await world.steady([quiet], _RATE, seconds), {quiet})
        await load
        await worker.kill()  # what it has in hand hangs
    return Isolation(manner, count, idle, beside)


async def bars(seconds: float, loops: int) -> AsyncIterator[Bar]:
    """Beside endpoints that hang and answer late, that reset, and one with a backlog; and beside busy loops, which take
    the CPU from everybody.
    """
    mixed = [f"hang/{n}" for n in range(40)] + [f"late/{n}" for n in range(10)]
    with busy_loops(loops):
        async with Sink() as sink, Sink() as theirs:
            yield await _bar(sink, theirs, "40 hanging, 10 late", mixed, 10_000, seconds, 3)
            yield await _bar(sink, theirs, "100 that reset", [f"reset/{n}" for n in range(100)], 10_000, seconds, 5)
            yield await _bar(sink, theirs, "500,000 due", ["hook"], 500_000, seconds, 3)


async def _bar(
    sink: Sink, theirs: Sink, beside: str, manners: list[str], owed: int, seconds: float, most: float
) -> Bar:
    await world.fresh()
    async with Process("relay"), Process("deliver") as worker:
        quiet, *bad = await world.workspaces([sink.url(host="localhost"), *map(theirs.url, manners)])
        await warm(sink, [quiet])
        alone = await lags(sink, await world.steady([quiet], _RATE, seconds), {quiet})
        if owed > _MOST:
            await world.let_wait(bad[0], owed)
        else:
            await world.commit(bad, owed)
        together = await lags(sink, await world.steady([quiet], _RATE, seconds), {quiet})
        await worker.kill()
    return Bar(beside, alone, together, most)


@contextlib.contextmanager
def busy_loops(count: int) -> Iterator[None]:
    """So many processes that do nothing, as fast as they can."""
    loops = [multiprocessing.get_context("spawn").Process(target=_spin, daemon=True) for _ in range(count)]
    for loop in loops:
        loop.start()
    try:
        yield
    finally:
        for loop in loops:
            loop.kill()
            loop.join()


def _spin() -> None:
    started_by = os.getppid()
    while os.getppid() == started_by:  # not after a bench that was killed
        for _ in range(1_000_000):
            pass


async def backlog(count: int) -> Backlog:
    """An endpoint that refuses connections is owed `count` at once, while others get 100 events a second."""
    await world.fresh()
    async with Sink() as sink, Process("relay"), Process("deliver"):
        dead, *others = await world.workspaces(["http://127.0.0.1:8999/", *[sink.url()] * _OTHERS])
        await warm(sink, others)
        before = await _redis_mb()
        for _ in range(count // 20_000):
            await world.commit([dead], 20_000)
        sizes: list[tuple[float, int]] = []
        watching = asyncio.create_task(_watch(sizes))
        healthy = await lags(sink, await world.steady(others, 100, 60), set(others))
        watching.cancel()
        delivered = "SELECT count(*) FROM delivery_result WHERE workspace_id = $1 AND state = 'delivered'"
        owed = count - await db.value(delivered, dead)
    return Backlog(before, max(size for size, _ in sizes), max(entries for _, entries in sizes), owed, healthy)


async def warm(sink: Sink, owners: list[str]) -> None:
    """Both processes are up when one event has arrived from each owner."""
    committed = await world.commit(owners, len(owners))
    arrived: set[str] = set()
    while not arrived.issuperset(committed):
        arrived |= (await sink.seen()).keys()
        await asyncio.sleep(0.05)
    await asyncio.sleep(1)  # the relay opens what nothing waits for


async def lags(sink: Sink, committed: dict[str, tuple[str, float]], healthy: set[str]) -> Lags:
    """Wait for what was committed for `healthy` owners; from commit to arrival."""
    wanted = {event: at for event, (owner, at) in committed.items() if owner in healthy}
    arrived: dict[str, float] = {}
    while wanted.keys() - arrived.keys():
        arrived |= await sink.seen()
        await asyncio.sleep(0.1)
    took = [(arrived[event] - at) * 1e3 for event, at in wanted.items()]
    cuts = statistics.quantiles(took, n=100, method="inclusive")
    return Lags(cuts[49], cuts[98], max(took), len(took))


async def _watch(sizes: list[tuple[float, int]]) -> None:
    while True:
        entries = sum([await world.redis().xlen(f"leadwire:{{deliveries}}:{name}") for name in range(4)])
        sizes.append((await _redis_mb(), entries))
        await asyncio.sleep(0.5)


async def _redis_mb() -> float:
    told = await world.redis().info("memory")
    return float(told["used_memory"]) / 2**20
