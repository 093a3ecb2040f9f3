"""Redis: durability. What it loses is queued again from PostgreSQL, but later."""

from collections.abc import Mapping
from typing import Any, Final

import msgspec
from redis.asyncio import Redis

from leadwire.infrastructure import clock, redis_pool
from leadwire.interfaces.cli.checks import finding
from leadwire.interfaces.cli.checks.finding import Finding, unless
from leadwire.interfaces.http.client_network import NOT_TRUSTED

_OLDEST: Final = {"Redis": 7, "Valkey": 8}
_FULL: Final = 0.8  # of maxmemory
_NO_LOG: Final = (
    "no append-only file: a restart empties the streams; what was in them is queued again after"
    " LEADWIRE_RECONCILE_AFTER"
)

Info = Mapping[str, Any]


def check(info: Info, server: str = "") -> list[Finding]:
    """Findings from what INFO answers; CONFIG is forbidden on many hosted servers. `server`: which one of a cluster."""
    name = "Valkey" if "valkey_version" in info else "Redis"
    version = str(info.get("valkey_version", info["redis_version"]))
    limit, used = int(info["maxmemory"]), int(info["used_memory"])
    policy = str(info.get("maxmemory_policy", "unknown"))
    evicts = policy != "noeviction"
    unlimited = ", without a limit of memory that would make it act" if evicts and not limit else ""
    replica = info["role"] != "master"
    clustered = bool(info.get("cluster_enabled"))
    replicas = int(info.get("connected_slaves", 0))
    kept = bool(info.get("aof_enabled"))
    found = [
        unless(int(version.partition(".")[0]) < _OLDEST[name], "Redis version", f"{name} {version}"),
        unless(replica, "Redis role", "a replica, which only reads" if replica else "primary"),
        unless(clustered and not server, "Redis Cluster", "on" if clustered else "off"),
        unless(bool(server) and not replicas, "Redis replicas", f"{replicas} connected"),
        unless(evicts and limit > 0, "Redis eviction", f"{policy}{unlimited}"),
        unless(
            0 < limit * _FULL < used,
            "Redis memory",
            f"{used >> 20} MiB of {limit >> 20} MiB" if limit else f"{used >> 20} MiB, no limit",
        ),
        unless(not kept, "Redis persistence", "append-only file" if kept else _NO_LOG),
        *_writes(info),
    ]
    return [msgspec.structs.replace(one, says=f"{server}: {one.says}") for one in found] if server else found


async def clocks(client: Redis) -> Finding:
    """Return how far Redis's clock, which gives the ages of entries, is from ours."""
    sent = clock.now().timestamp()
    return finding.clock("clock of Redis", sent, await redis_pool.time(client), clock.now().timestamp())


async def proxies(client: Redis) -> Finding:
    """Whether `serve` was sent requests by a proxy that it does not trust."""
    wrong = bool(await client.exists(NOT_TRUSTED))
    says = "by a proxy that is not trusted, within the last day" if wrong else "by trusted proxies only"
    return unless(wrong, "requests forwarded", says)


def _writes(info: Info) -> list[Finding]:
    names = ("rdb_last_bgsave_status", "aof_last_write_status", "aof_last_bgrewrite_status")
    bad = [f"{name} is {info[name]}" for name in names if info.get(name, "ok") != "ok"]
    return [unless(bool(bad), "Redis disk", says) for says in bad or ["the last writes succeeded"]]
