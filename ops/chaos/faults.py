"""The faults, each a small function, and the seeded schedule of when each is injected and how severe it is."""

import asyncio
import contextlib
import shutil
import signal
import time
from collections.abc import Awaitable, Callable, Sequence
from typing import Final

import asyncpg

from leadwire.infrastructure import db, settings
from leadwire_development.embedded import Server
from ops.chaos import members
from ops.chaos.cluster import BACKGROUND, Cluster, ManagedProcess
from ops.chaos.plan import Hit, Planned
from ops.chaos.records import Fault

_Work = Callable[[Cluster, Planned, float], Awaitable[Hit]]


async def kill_serve(cluster: Cluster, planned: Planned, _: float) -> Hit:
    """SIGKILL of the API, with requests under way."""
    return await _kill(cluster.serves[0], planned)


async def kill_relay(cluster: Cluster, planned: Planned, _: float) -> Hit:
    """SIGKILL of a relay, perhaps between its commit and its XADD."""
    return await _kill(_pick(cluster.relays, planned), planned)


async def kill_worker(cluster: Cluster, planned: Planned, _: float) -> Hit:
    """SIGKILL of a worker that holds deliveries: they wait until their lease ends."""
    return await _kill(_pick(cluster.workers, planned), planned)


async def stop_relay(cluster: Cluster, planned: Planned, lease: float) -> Hit:
    """SIGSTOP of a relay, SIGCONT later: it resumes with keys that others have already delivered."""
    return await _freeze(_pick(cluster.relays, planned), planned, lease)


async def stop_worker(cluster: Cluster, planned: Planned, lease: float) -> Hit:
    """SIGSTOP of a worker, half of the time beyond the lease: it resumes with entries of another worker."""
    return await _freeze(_pick(cluster.workers, planned), planned, lease)


async def kill_background(cluster: Cluster, planned: Planned, _: float) -> Hit:
    """SIGKILL of a process that does jobs: another one goes on with them."""
    return await _kill(_pick(cluster.backgrounds, planned), planned)


async def stop_background(cluster: Cluster, planned: Planned, lease: float) -> Hit:
    """SIGSTOP of a process that does jobs: it resumes with jobs that another one has done."""
    return await _freeze(_pick(cluster.backgrounds, planned), planned, lease)


async def flush_redis(cluster: Cluster, _: Planned, __: float) -> Hit:
    """FLUSHALL: entries and consumer groups are gone."""
    async with cluster.servers_busy[cluster.valkey.name]:
        start = time.time()
        await cluster.redis.flushall()
    return Hit(cluster.valkey.name, start)


async def crash_redis(cluster: Cluster, _: Planned, __: float) -> Hit:
    """SIGKILL of Redis; it comes back with what its log holds."""
    return await _restart(cluster, cluster.valkey, signal.SIGKILL)


async def truncate_redis(cluster: Cluster, planned: Planned, _: float) -> Hit:
    """A crash that costs Redis the end of its log, in the middle of a record: entries gone, finished ones back."""

    def cut() -> None:
        newest = max(cluster.append_log.glob("*.incr.aof"), key=lambda file: file.stat().st_mtime)
        with newest.open("r+b") as log:
            log.truncate(int(newest.stat().st_size * (0.5 + planned.force / 2)))

    return await _restart(cluster, cluster.valkey, signal.SIGKILL, cut)


async def empty_redis(cluster: Cluster, _: Planned, __: float) -> Hit:
    """A Redis that comes back without its data, as one without persistence does."""
    return await _restart(cluster, cluster.valkey, signal.SIGKILL, lambda: shutil.rmtree(cluster.append_log))


async def restart_postgres(cluster: Cluster, _: Planned, __: float) -> Hit:
    """A fast shutdown: every connection is cut, every transaction under way rolled back."""
    return await _restart(cluster, cluster.postgres, signal.SIGINT)


async def crash_postgres(cluster: Cluster, _: Planned, __: float) -> Hit:
    """SIGKILL of the postmaster: recovery from the write-ahead log."""
    return await _restart(cluster, cluster.postgres, signal.SIGKILL)


async def lose_answers(cluster: Cluster, planned: Planned, _: float) -> Hit:
    """What the API and the relays send to Redis is done, and no answer comes: they add the same entries again."""
    async with cluster.proxy_busy:
        start = time.time()
        await cluster.proxy.lose_answers(0.5 + planned.force * 4)
    return Hit("proxy", start)


async def lock_rows(cluster: Cluster, planned: Planned, lease: float) -> Hit:
    """Somebody locks every endpoint and every delivery there is, as an operator's session or a long change does."""
    return await _lock(
        cluster,
        planned,
        lease,
        "SELECT 1 FROM webhook_endpoint ORDER BY id FOR UPDATE",
        "SELECT 1 FROM delivery FOR UPDATE",
    )


async def lock_table(cluster: Cluster, planned: Planned, lease: float) -> Hit:
    """Nobody can claim, record or make deliveries, half of the time for longer than the lease."""
    return await _lock(cluster, planned, lease, "LOCK TABLE delivery IN SHARE MODE")


FAULTS: Final[dict[str, _Work]] = {
    work.__name__.replace("_", "-"): work
    for work in (
        *(kill_serve, kill_relay, kill_worker, stop_relay, stop_worker),
        *(flush_redis, crash_redis, truncate_redis, empty_redis, lose_answers),
        *(restart_postgres, crash_postgres, lock_rows, lock_table, members.hold_snapshot),
        *((kill_background, stop_background) if BACKGROUND else ()),
        *members.FAULTS,
    )
}


def chosen(words: str) -> list[str]:
    """Return the faults named by a list such as `kill,flush,stop-worker,postgres`. Raise ValueError for other names."""
    kinds: list[str] = []
    for word in words.split(","):
        found = [kind for kind in FAULTS if word in (kind, *kind.split("-"))]
        if not found:
            raise ValueError(f"no fault {word!r}; there are {', '.join(FAULTS)}")
        kinds += found
    return list(dict.fromkeys(kinds))


async def inject(cluster: Cluster, plan: Sequence[Planned], lease: float) -> list[Fault]:
    """Inject the faults. Return what happened, after the last one is over. Faults of different targets overlap.

    `lease` is in seconds; the length of a stop is a multiple of it.
    """

    async def one(planned: Planned) -> Fault:
        await asyncio.sleep(planned.at)
        struck = await FAULTS[planned.kind](cluster, planned, lease)
        fault = Fault(planned.kind, struck.target, struck.at, time.time(), struck.stopped)
        print(
            f"  {planned.at:6.1f} s  {fault.kind:<16} {fault.target:<10} for {fault.end - fault.start:4.1f} s",
            flush=True,
        )
        return fault

    return await asyncio.gather(*(one(planned) for planned in plan))


def _pick(processes: Sequence[ManagedProcess], planned: Planned) -> ManagedProcess:
    return processes[int(planned.draw * len(processes))]


async def _kill(process: ManagedProcess, planned: Planned) -> Hit:
    async with process.busy:
        start = time.time()
        await process.kill(0.1 + planned.force * 2)
    return Hit(process.name, start)


async def _freeze(process: ManagedProcess, planned: Planned, lease: float) -> Hit:
    async with process.busy:
        start = time.time()
        await process.freeze(_length(planned, lease))
    return Hit(process.name, start)


def _length(planned: Planned, lease: float) -> float:
    """Half of the time up to half a lease, else 1.2 to 2 leases."""
    return lease * (planned.force if planned.force < 0.5 else 0.4 + planned.force * 1.6)


async def _lock(cluster: Cluster, planned: Planned, lease: float, *statements: str) -> Hit:
    """Run statements that lock, and commit later. PostgreSQL may end before."""
    async with cluster.servers_busy[cluster.postgres.name]:
        connection = await asyncpg.connect(settings.get().database_url)
        start = time.time()
        try:
            with contextlib.suppress(db.Deadlock):
                async with connection.transaction():
                    for statement in statements:
                        await connection.execute(statement)
                    await asyncio.sleep(_length(planned, lease))
        finally:
            await connection.close()
    return Hit(cluster.postgres.name, start)


async def _restart(
    cluster: Cluster, server: Server, number: signal.Signals, meanwhile: Callable[[], object] | None = None
) -> Hit:
    """End a server with a signal and wait until it is back. `meanwhile` runs while it is stopped, before its end."""
    async with cluster.servers_busy[server.name]:
        before, start = server.pid(), time.time()
        if meanwhile:
            server.kill(signal.SIGSTOP)
            meanwhile()
        server.kill(number)
        await cluster.back(server, before)
    return Hit(server.name, start)
