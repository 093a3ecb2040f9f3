"""What happens to the hosts: each fault lasts for a while, and returns what it hit."""

import asyncio
import signal
import time
from collections.abc import Awaitable, Callable
from email.utils import parsedate_to_datetime
from typing import Final

import httpx

from ops.chaos.records import Fault
from ops.cluster.network import Host
from ops.cluster.topology import HostedCluster

_SLOW: Final = "64kbit"
_SHIFT: Final = 5  # hours
_LAG: Final = 1.5  # seconds that an asynchronous standby is behind when it is promoted
_PROMOTION: Final = 60.0  # seconds

_Work = Callable[[HostedCluster, float], Awaitable[str]]


async def cut_serve(cluster: HostedCluster, seconds: float) -> str:
    """HAProxy, PostgreSQL and Redis cannot reach one `serve`, nor it them."""
    return await _cut(cluster.hosts["serve-1"], seconds)


async def cut_relay(cluster: HostedCluster, seconds: float) -> str:
    """One relay is cut off, with its transactions open and its locks held."""
    return await _cut(cluster.hosts["relay-1"], seconds)


async def cut_worker(cluster: HostedCluster, seconds: float) -> str:
    """One worker is cut off from receivers and servers, for longer than its lease."""
    return await _cut(cluster.hosts["deliver-1"], seconds)


async def cut_redis(cluster: HostedCluster, seconds: float) -> str:
    """Nobody reaches Redis."""
    return await _cut(cluster.hosts["redis"], seconds)


async def cut_primary(cluster: HostedCluster, seconds: float) -> str:
    """Nobody reaches the primary. Under Patroni its standby is promoted, and it comes back as one."""
    if not cluster.topology.patroni:
        return await _cut(cluster.pg[0], seconds)
    primary = await _primary(cluster)
    primary.cut()
    await _primary(cluster, instead_of=primary)
    asyncio.get_running_loop().call_later(seconds, primary.join)
    return primary.name


async def kill_primary(cluster: HostedCluster, _: float) -> str:
    """The primary's host loses its power and stays away. An asynchronous standby lacks the last 1.5 s."""
    primary = await _primary(cluster)
    if not cluster.topology.synchronous:
        for host in cluster.pg:
            if host is not primary:
                primary.ignore(host)
        await asyncio.sleep(_LAG)
    primary.power_off()
    await _primary(cluster, instead_of=primary)
    return primary.name


async def freeze_primary(cluster: HostedCluster, seconds: float) -> str:
    """Every process of the primary's host stands still. Its standby is promoted, and it wakes up as one."""
    primary = await _primary(cluster)
    primary.signal(signal.SIGSTOP)
    await _primary(cluster, instead_of=primary)
    asyncio.get_running_loop().call_later(seconds, primary.signal, signal.SIGCONT)
    return primary.name


async def slow_worker(cluster: HostedCluster, seconds: float) -> str:
    """One worker's link carries 64 kbit/s."""
    return await _slow(cluster.hosts["deliver-1"], seconds)


async def slow_primary(cluster: HostedCluster, seconds: float) -> str:
    """The primary's link carries 64 kbit/s: statements take seconds."""
    return await _slow(await _primary(cluster), seconds)


async def shift_clocks(cluster: HostedCluster, seconds: float) -> str:
    """The clocks of one `serve` and one worker go five hours ahead, and back."""
    cluster.shift_clock(_SHIFT)
    await asyncio.sleep(seconds)
    async with httpx.AsyncClient(trust_env=False) as client:
        answer = await client.get(f"http://{cluster.hosts['serve-1'].address}:8000/health/live")
    ahead = parsedate_to_datetime(answer.headers["date"]).timestamp() - time.time()
    if abs(ahead - _SHIFT * 3600) > 60:
        raise RuntimeError(f"the clock of `serve` is {ahead:.0f} s ahead")
    cluster.shift_clock(0)
    return "deliver-1"


async def upgrade(cluster: HostedCluster, _: float) -> str:
    """Every process of an earlier commit is replaced, one at a time; the tables are today's already."""
    for process in cluster.processes:
        process.environment.pop("PYTHONPATH", None)
        await process.replace()
    return "every process"


_ANYWHERE: Final[tuple[_Work, ...]] = (cut_serve, cut_relay, cut_worker, cut_redis, cut_primary)
_PLAIN: Final[tuple[_Work, ...]] = (*_ANYWHERE, slow_worker, slow_primary, shift_clocks, upgrade)
_PATRONI: Final[tuple[_Work, ...]] = (kill_primary, cut_primary)
_SYNCHRONOUS: Final[tuple[_Work, ...]] = (*_PATRONI, freeze_primary, slow_worker, slow_primary, shift_clocks, upgrade)


def kinds(topology: str) -> dict[str, _Work]:
    """Return the faults that are tried in a topology."""
    works = {"plain": _PLAIN, "patroni-sync": _SYNCHRONOUS}.get(topology, _PATRONI)
    return {work.__name__.replace("_", "-"): work for work in works}


async def inject(cluster: HostedCluster, work: _Work, after: float, seconds: float) -> list[Fault]:
    """Do it `after` seconds of load. Return what happened once it is over."""
    await asyncio.sleep(after)
    start = time.time()
    target = await work(cluster, seconds)
    fault = Fault(work.__name__.replace("_", "-"), target, start, time.time())
    print(f"  {fault.kind} of {target} for {fault.end - start:.1f} s", flush=True)
    return [fault]


async def _cut(host: Host, seconds: float) -> str:
    host.cut()
    await asyncio.sleep(seconds)
    host.join()
    return host.name


async def _slow(host: Host, seconds: float) -> str:
    host.slow(_SLOW)
    await asyncio.sleep(seconds)
    host.hasten()
    return host.name


async def _primary(cluster: HostedCluster, instead_of: Host | None = None) -> Host:
    """Wait until a host is the primary, another one than before. Raise RuntimeError when there is none."""
    end = time.monotonic() + _PROMOTION
    while time.monotonic() < end:
        found = await asyncio.to_thread(cluster.primary)
        if found and found is not instead_of:
            return found
        await asyncio.sleep(0.1)
    raise RuntimeError("there is no primary")
