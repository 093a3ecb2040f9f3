"""Throughput by the number of workers and of `serve`, what each part costs, and the sums for more machines."""

import asyncio
import os
import time
from collections.abc import Iterable
from pathlib import Path
from typing import Final, NamedTuple

from leadwire.infrastructure import settings
from ops.bench.api.measure import cpu
from ops.bench.race.load import Load, Service
from ops.bench.race.services import changes
from ops.cluster.network import HARNESS, SUBNET, Host
from ops.cluster.topology import HostedCluster, Topology

_CLIENTS: Final = 64  # each waits for its answer
_SECONDS: Final = 6.0
_WARM: Final = 2.0
_CHECKED: Final = 3.0  # seconds until HAProxy knows which `serve` there are
_OWN: Final = "load"
_SETTINGS: Final = {
    "LEADWIRE_RATE_LIMIT": "0",
    "LEADWIRE_LOG_LEVEL": "warning",
    "LEADWIRE_ALLOWED_NETWORKS": SUBNET,
}
_PARTS: Final = ("serve", "relay", "deliver", "background", "pg", "redis", "proxy", _OWN)


class Point(NamedTuple):
    """What was measured with so many processes. `cost`: milliseconds of CPU for each event, by part."""

    serves: int
    workers: int
    rate: float  # events a second, from the first request to the last webhook
    lost: int
    cost: dict[str, float]


async def measure(directory: Path) -> None:
    """Measure and print, in namespaces of our own."""
    os.environ |= _SETTINGS | {"LEADWIRE_DATA_DIR": str(directory)}
    settings.get.cache_clear()
    cluster = HostedCluster(Topology(), directory, _SETTINGS)
    url = await cluster.prepare()
    points = []
    async with Load(9099, HARNESS) as load:
        request = await changes(url, cluster.environment["LEADWIRE_REDIS_URL"], load.url)
        service = Service((cluster.hosts["proxy"].address, 8000), request, {})
        async with cluster:
            await load.run(service, _WARM, clients=_CLIENTS)
            for serves in (2, 1):
                for workers in (3, 2, 1):
                    await _only(cluster, serves, workers)
                    points.append(await _point(cluster, load, service, serves, workers))
    print(*lines(points), sep="\n")


async def _only(cluster: HostedCluster, serves: int, workers: int) -> None:
    """Let so many run."""
    for group, count in ((cluster.serves, serves), (cluster.workers, workers)):
        for number, process in enumerate(group):
            if process.running and number >= count:
                await process.stop()
            elif not process.running and number < count:
                await process.start()
    await asyncio.sleep(_CHECKED)


async def _point(cluster: HostedCluster, load: Load, service: Service, serves: int, workers: int) -> Point:
    await load.run(service, _WARM, clients=_CLIENTS)
    before = _used(cluster.hosts.values())
    await load.run(service, _SECONDS, clients=_CLIENTS)
    after = _used(cluster.hosts.values())
    count = len(load.arrived)
    cost = {part: (after[part] - before[part]) * 1e3 / count for part in _PARTS}
    return Point(serves, workers, count / (max(load.arrived.values()) - load.start), load.lost, cost)


def _used(hosts: Iterable[Host]) -> dict[str, float]:
    """Return the seconds of CPU so far, by part."""
    found = dict.fromkeys(_PARTS, 0.0) | {_OWN: time.process_time()}
    for host in hosts:
        pids = set(host.pids())
        part = host.name.partition("-")[0]
        found[part] += sum(cpu(pid) for pid in pids if _parent(pid) not in pids)  # `cpu` counts the children
    return found


def _parent(pid: int) -> int:
    return int(Path(f"/proc/{pid}/stat").read_text().rsplit(")", 1)[1].split()[1])


def lines(points: Iterable[Point]) -> list[str]:
    """Return the table, and what it comes to on more machines."""
    found = sorted(points)
    cores = os.cpu_count() or 1
    text = [
        f"{cores} cores, {_CLIENTS} clients that wait for their answers; milliseconds of CPU for each event, by part",
        "serve  workers  events/s  " + "".join(f"{part:>9}" for part in _PARTS) + "  cores busy  lost",
    ]
    for one in found:
        busy = one.rate * sum(one.cost.values()) / 1e3
        costs = "".join(f"{one.cost[part]:9.3f}" for part in _PARTS)
        text.append(f"{one.serves:>5}{one.workers:>9}{one.rate:>10.0f}  {costs}{busy:>12.2f}{one.lost:>6}")
    cost = found[-1].cost
    each = {part: 1e3 / cost[part] for part in ("serve", "deliver", "proxy", "redis", "pg")}
    text.append("With cores of their own, by the costs of the last line, events a second:")
    text.append("  one " + ", ".join(f"{part} {rate:,.0f}" for part, rate in each.items()))
    return text
