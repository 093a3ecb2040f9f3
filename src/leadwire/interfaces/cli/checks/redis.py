"""Redis: durability. What it loses is queued again from PostgreSQL, but later."""

from collections.abc import Mapping
from typing import Any, Final

import msgspec
from redis.asyncio import Redis
from redis.asyncio.cluster import RedisCluster

from leadwire.delivery.streams import installation
from leadwire.infrastructure import clock, redis_pool
from leadwire.interfaces.cli.checks import finding
from leadwire.interfaces.cli.checks.finding import Finding, unless
from leadwire.interfaces.http import NOT_TRUSTED

_OLDEST: Final = {"Redis": 7, "Valkey": 8}
_FULL: Final = 0.8  # of maxmemory
_SLOTS: Final = 16384
_LATE: Final = 10  # seconds without a word of a replica, which sends one each second
_NO_LOG: Final = (
    "no append-only file: a restart empties the streams; what was in them is queued again after"
    " LEADWIRE_RECONCILE_AFTER"
)

Info = Mapping[str, Any]


async def infos(client: Redis) -> dict[str, Info]:
    """What INFO answers: the only server under an empty name, each primary of a cluster under its address, with what
    CLUSTER INFO answers; or `unreachable`: why it does not answer.
    """
    if not isinstance(client, RedisCluster):
        return {"": await client.info()}
    await client.initialize()
    by_server: dict[str, Info] = {}
    for node in client.get_primaries():
        try:
            told = [await client.execute_command(command, target_nodes=node) for command in ("INFO", "CLUSTER INFO")]
            by_server[node.name] = told[0] | told[1]
        except redis_pool.AWAY as error:
            by_server[node.name] = {"unreachable": str(error) or type(error).__name__}
    return by_server


def check(info: Info, server: str = "") -> list[Finding]:
    """Findings from what `infos` returns; CONFIG is forbidden on many hosted servers. `server`: which of a cluster."""
    if "unreachable" in info:
        return [unless(True, "Redis primary", f"{server}: {info['unreachable']}")]
    name = "Valkey" if "valkey_version" in info else "Redis"
    version = str(info.get("valkey_version", info["redis_version"]))
    limit, used = int(info["maxmemory"]), int(info["used_memory"])
    policy = str(info.get("maxmemory_policy", "unknown"))
    evicts = policy != "noeviction"
    unlimited = ", without a limit of memory that would make it act" if evicts and not limit else ""
    replica = info["role"] != "master"
    clustered = bool(info.get("cluster_enabled"))
    kept = bool(info.get("aof_enabled"))
    findings = [
        unless(int(version.partition(".")[0]) < _OLDEST[name], "Redis version", f"{name} {version}"),
        unless(replica, "Redis role", "a replica, which only reads" if replica else "primary"),
        unless(clustered and not server, "Redis Cluster", "on" if clustered else "off"),
        *([_slots(info)] if server else []),
        _replicas(info, needed=bool(server)),
        unless(evicts and limit > 0, "Redis eviction", f"{policy}{unlimited}"),
        unless(
            0 < limit * _FULL < used,
            "Redis memory",
            f"{used >> 20} MiB of {limit >> 20} MiB" if limit else f"{used >> 20} MiB, no limit",
        ),
        unless(not kept, "Redis persistence", "append-only file" if kept else _NO_LOG),
        *_writes(info),
    ]
    return [msgspec.structs.replace(row, says=f"{server}: {row.says}") for row in findings] if server else findings


def _slots(info: Info) -> Finding:
    """Whether each slot of a cluster has a server that answers for it."""
    served = int(info["cluster_slots_ok"])
    wrong = served < _SLOTS or info["cluster_state"] != "ok"
    return unless(wrong, "Redis slots", f"{served} of {_SLOTS} served, the cluster's state is {info['cluster_state']}")


def _replicas(info: Info, *, needed: bool) -> Finding:
    """Whether there are replicas, where they are `needed`, and each follows."""
    replicas = [info[f"slave{number}"] for number in range(int(info.get("connected_slaves", 0)))]
    late = [replica for replica in replicas if replica["state"] != "online" or int(replica["lag"]) > _LATE]
    told = [
        f"{replica['ip']}:{replica['port']} is {replica['state']}, last heard of {replica['lag']} s ago"
        for replica in late
    ]
    return unless(
        bool(late) or (needed and not replicas), "Redis replicas", "; ".join(told) or f"{len(replicas)} connected"
    )


async def clocks(client: Redis) -> Finding:
    """Return how far Redis's clock, which gives the ages of entries, is from ours."""
    sent = clock.now().timestamp()
    return finding.clock("clock of Redis", sent, await redis_pool.time(client), clock.now().timestamp())


async def proxies(client: Redis) -> Finding:
    """Whether `serve` was sent requests by a proxy that it does not trust."""
    wrong = bool(await client.exists(NOT_TRUSTED))
    says = "by a proxy that is not trusted, within the last day" if wrong else "by trusted proxies only"
    return unless(wrong, "requests forwarded", says)


async def installations(client: Redis, ours: str) -> Finding:
    """Whether another installation than that of the database `ours` uses the same Redis."""
    others = await installation.others(client, ours)
    says = f"also used by the database {', '.join(others)}" if others else "ours alone"
    return unless(bool(others), "Redis installations", says)


def _writes(info: Info) -> list[Finding]:
    names = ("rdb_last_bgsave_status", "aof_last_write_status", "aof_last_bgrewrite_status")
    bad = [f"{name} is {info[name]}" for name in names if info.get(name, "ok") != "ok"]
    return [unless(bool(bad), "Redis disk", says) for says in bad or ["the last writes succeeded"]]
