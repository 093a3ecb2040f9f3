"""Load that rises in steps until deliveries fall behind: the highest sustained rate, and the cost of an event."""

import asyncio
import contextlib
import time
from collections.abc import AsyncIterator, Sequence
from typing import Final, NamedTuple

from leadwire.infrastructure import db
from ops.bench.api.measure import cpu
from ops.bench.delivery import world
from ops.bench.delivery.process import Process
from ops.bench.delivery.sink import Sink
from ops.bench.delivery.speed import own_cpu
from ops.bench.delivery.world import Counts

_ENDPOINTS: Final = 20
_WARM: Final = 3.0  # seconds
_PATIENCE: Final = 60.0  # seconds for the rest of a step to arrive
_ENOUGH: Final = 0.9  # of what is offered; below that a step is the last one


class Step(NamedTuple):
    """One rate. Latency from commit to arrival, in seconds; CPU in microseconds per event, by part."""

    offered: float
    carried: float
    p50: float
    p99: float
    longest: float
    cpu: dict[str, float]
    wal: float
    disk: float

    @property
    def saturated(self) -> bool:
        """Whether it was too much."""
        return self.carried < _ENOUGH * self.offered


async def steps(rates: Sequence[float], seconds: float, workers: int) -> AsyncIterator[Step]:
    """One relay and so many workers, on fresh tables; each rate for so many seconds, to the first that is too much."""
    await world.fresh()
    async with contextlib.AsyncExitStack() as stack:
        sink = await stack.enter_async_context(Sink())
        relay = await stack.enter_async_context(Process("relay"))
        team = [await stack.enter_async_context(Process("deliver")) for _ in range(workers)]
        owners = await world.workspaces([sink.url()] * _ENDPOINTS)
        await world.open_endpoints()
        warm = await world.steady(owners, 50, _WARM)
        await _arrived(sink, warm, _PATIENCE)
        for rate in rates:
            before, counted, room = await _used(relay, team), await Counts.now(), await size()
            start = time.monotonic()
            committed = await world.steady(owners, rate, seconds)
            end = time.monotonic()
            arrived = await _arrived(sink, committed, _PATIENCE)
            count = len(committed)
            used = {
                part: (now - then) / count * 1e6
                for (part, now), then in zip((await _used(relay, team)).items(), before.values(), strict=True)
            }
            late = sorted(arrived[event] - moment for event, (_, moment) in committed.items() if event in arrived)
            found = Step(
                offered=rate,
                carried=sum(at < end for at in arrived.values()) / (end - start),
                p50=late[len(late) // 2],
                p99=late[len(late) * 99 // 100],
                longest=late[-1],
                cpu=used,
                wal=((await Counts.now()).wal - counted.wal) / count,
                disk=(await size() - room) / count,
            )
            yield found
            if found.saturated:
                return


async def _arrived(sink: Sink, committed: dict[str, tuple[str, float]], seconds: float) -> dict[str, float]:
    """When each of these events came; those that have not come in time are not there."""
    arrived: dict[str, float] = {}
    end = time.monotonic() + seconds
    while len(arrived) < len(committed) and time.monotonic() < end:
        arrived |= await sink.seen()
        await asyncio.sleep(0.05)
    return arrived


async def _used(relay: Process, team: Sequence[Process]) -> dict[str, float]:
    """Seconds of CPU so far, by part."""
    told = await world.redis().info("cpu")
    return {
        "changes": own_cpu(),  # recording, and adding to the streams
        "relay": relay.cpu(),
        "workers": sum(worker.cpu() for worker in team),
        "PostgreSQL": await postgres_cpu(),
        "Valkey": told["used_cpu_user"] + told["used_cpu_sys"],
    }


async def postgres_cpu() -> float:
    """Seconds of CPU of the server and all its processes so far."""
    return cpu(await db.value("SELECT split_part(pg_read_file('postmaster.pid'), E'\\n', 1)::int"))


async def size() -> int:
    """Bytes of the database."""
    return int(await db.value("SELECT pg_database_size(current_database())"))
