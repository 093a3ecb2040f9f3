"""The faults: each a small function, and the seeded schedule that says when each comes and how hard."""

import asyncio
import random
import shutil
import signal
import time
from collections.abc import Awaitable, Callable, Sequence
from typing import Final, NamedTuple

from leadwire.development.embedded import Server
from ops.chaos.records import Fault
from ops.chaos.stage import Part, Stage


class Planned(NamedTuple):
    """A fault to come: `at` seconds after the start; `draw` (0 to 1) chooses its target, `force` how hard it is."""

    at: float
    kind: str
    draw: float
    force: float


class Struck(NamedTuple):
    """What was hit, and when: a fault waits for an earlier one of the same target."""

    target: str
    at: float


_Work = Callable[[Stage, Planned, float], Awaitable[Struck]]


async def kill_serve(stage: Stage, planned: Planned, _: float) -> Struck:
    """SIGKILL of the API, with requests under way."""
    return await _kill(stage.serve, planned)


async def kill_relay(stage: Stage, planned: Planned, _: float) -> Struck:
    """SIGKILL of a relay, perhaps between its commit and its XADD."""
    return await _kill(_pick(stage.relays, planned), planned)


async def kill_worker(stage: Stage, planned: Planned, _: float) -> Struck:
    """SIGKILL of a worker with its hands full: what it holds waits for the lease to end."""
    return await _kill(_pick(stage.workers, planned), planned)


async def stop_relay(stage: Stage, planned: Planned, lease: float) -> Struck:
    """SIGSTOP of a relay, SIGCONT later: it wakes with keys that others have long since delivered."""
    return await _freeze(_pick(stage.relays, planned), planned, lease)


async def stop_worker(stage: Stage, planned: Planned, lease: float) -> Struck:
    """SIGSTOP of a worker, half of them past the lease: it wakes with entries that are another's by now."""
    return await _freeze(_pick(stage.workers, planned), planned, lease)


async def flush_redis(stage: Stage, _: Planned, __: float) -> Struck:
    """FLUSHALL: entries and consumer groups are gone."""
    async with stage.servers_busy[stage.valkey.name]:
        start = time.time()
        await stage.redis.flushall()
    return Struck(stage.valkey.name, start)


async def crash_redis(stage: Stage, _: Planned, __: float) -> Struck:
    """SIGKILL of Redis; it comes back with what its log holds."""
    return await _restart(stage, stage.valkey, signal.SIGKILL)


async def truncate_redis(stage: Stage, planned: Planned, _: float) -> Struck:
    """A crash that costs Redis the end of its log, in the middle of a record: entries gone, finished ones back."""

    def cut() -> None:
        newest = max(stage.append_log.glob("*.incr.aof"), key=lambda file: file.stat().st_mtime)
        with newest.open("r+b") as log:
            log.truncate(int(newest.stat().st_size * (0.5 + planned.force / 2)))

    return await _restart(stage, stage.valkey, signal.SIGKILL, cut)


async def empty_redis(stage: Stage, _: Planned, __: float) -> Struck:
    """A Redis that comes back without its data, as one without persistence does."""
    return await _restart(stage, stage.valkey, signal.SIGKILL, lambda: shutil.rmtree(stage.append_log))


async def restart_postgres(stage: Stage, _: Planned, __: float) -> Struck:
    """A fast shutdown: every connection is cut, every transaction under way rolled back."""
    return await _restart(stage, stage.postgres, signal.SIGINT)


async def crash_postgres(stage: Stage, _: Planned, __: float) -> Struck:
    """SIGKILL of the postmaster: recovery from the write-ahead log."""
    return await _restart(stage, stage.postgres, signal.SIGKILL)


FAULTS: Final[dict[str, _Work]] = {
    work.__name__.replace("_", "-"): work
    for work in (
        *(kill_serve, kill_relay, kill_worker, stop_relay, stop_worker),
        *(flush_redis, crash_redis, truncate_redis, empty_redis, restart_postgres, crash_postgres),
    )
}


def chosen(words: str) -> list[str]:
    """The faults that a list such as `kill,flush,stop-worker,postgres` names. Raises ValueError for other words."""
    kinds: list[str] = []
    for word in words.split(","):
        found = [kind for kind in FAULTS if word in (kind, *kind.split("-"))]
        if not found:
            raise ValueError(f"no fault {word!r}; there are {', '.join(FAULTS)}")
        kinds += found
    return list(dict.fromkeys(kinds))


def schedule(kinds: Sequence[str], seconds: float, every: float, seed: int) -> list[Planned]:
    """About one fault `every` so many seconds; every kind comes once before any comes twice. Pure."""
    draw = random.Random(seed)
    plan: list[Planned] = []
    round_of: list[str] = []
    at = draw.uniform(0.3, 0.9) * every
    while at < seconds * 0.95:
        round_of = round_of or draw.sample(kinds, len(kinds))
        plan.append(Planned(at, round_of.pop(), draw.random(), draw.random()))
        at += draw.uniform(0.6, 1.4) * every
    return plan


async def rage(stage: Stage, plan: Sequence[Planned], lease: float) -> list[Fault]:
    """Do it; answers what happened, once the last one is over. Faults of different targets overlap.

    `lease`, in seconds, is what stops are measured by.
    """

    async def one(planned: Planned) -> Fault:
        await asyncio.sleep(planned.at)
        struck = await FAULTS[planned.kind](stage, planned, lease)
        fault = Fault(planned.kind, struck.target, struck.at, time.time())
        print(
            f"  {planned.at:6.1f} s  {fault.kind:<16} {fault.target:<10} for {fault.end - fault.start:4.1f} s",
            flush=True,
        )
        return fault

    return await asyncio.gather(*(one(planned) for planned in plan))


def _pick(parts: Sequence[Part], planned: Planned) -> Part:
    return parts[int(planned.draw * len(parts))]


async def _kill(part: Part, planned: Planned) -> Struck:
    async with part.busy:
        start = time.time()
        await part.kill(0.1 + planned.force * 2)
    return Struck(part.name, start)


async def _freeze(part: Part, planned: Planned, lease: float) -> Struck:
    """Half of them for up to half a lease, half for 1.2 to 2 leases."""
    share = planned.force if planned.force < 0.5 else 0.4 + planned.force * 1.6
    async with part.busy:
        start = time.time()
        await part.freeze(share * lease)
    return Struck(part.name, start)


async def _restart(
    stage: Stage, server: Server, number: signal.Signals, meanwhile: Callable[[], object] | None = None
) -> Struck:
    """End a server by a signal and wait until it is back. `meanwhile` is done while it stands still, before its end."""
    async with stage.servers_busy[server.name]:
        before, start = server.pid(), time.time()
        if meanwhile:
            server.kill(signal.SIGSTOP)
            meanwhile()
        server.kill(number)
        await stage.back(server, before)
    return Struck(server.name, start)
