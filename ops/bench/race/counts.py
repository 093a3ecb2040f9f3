"""What a service takes, so far: CPU, and counts, which are the same on a slow host and on a fast one."""

import asyncio
import contextlib
from pathlib import Path
from typing import Final

import asyncpg
from redis.asyncio import Redis

from ops.bench.api.measure import cpu
from ops.bench.race.load import Service

UNTIL_TOLD: Final = 10.5  # seconds: a session of PostgreSQL that idles adds its own counts after ten
_POSTGRES: Final = """
SELECT xact_commit::float8 AS transactions, (tup_inserted + tup_updated + tup_deleted)::float8 AS "rows written",
    (pg_current_wal_lsn() - '0/0')::float8 / 1024 AS "WAL kB" FROM pg_stat_database WHERE datname = current_database()
"""


async def servers(service: Service) -> dict[str, float]:
    """Of ours, what PostgreSQL has done once it has told all: transactions, rows and WAL that were written."""
    if not service.database_url:
        return {}
    await asyncio.sleep(UNTIL_TOLD)
    connection = await asyncpg.connect(service.database_url)
    told = await connection.fetchrow(_POSTGRES)
    await connection.close()
    return dict(told or {})


async def processes(service: Service) -> dict[str, float]:
    """CPU in milliseconds by part, and `wakes`: how often a thread of its processes has waited and gone on. Of ours
    also the calls of Redis, those of scripts among them.
    """
    wakes = {part: _wakes(pid) for part, pid in service.pids.items()}
    found = {part: cpu(pid) * 1e3 for part, pid in service.pids.items()}
    found |= {f"{part} wakes": float(count) for part, count in wakes.items()} | {"wakes": float(sum(wakes.values()))}
    if service.redis_url:
        async with Redis.from_url(service.redis_url) as redis:
            told = await redis.info("commandstats")
        calls = {name.removeprefix("cmdstat_"): float(one["calls"]) for name, one in sorted(told.items())}
        found |= {f"Redis {name}": count for name, count in calls.items()} | {"Redis calls": sum(calls.values())}
    return found


def _wakes(pid: int) -> int:
    """Voluntary context switches of a process and its children, all threads."""
    count = 0
    with contextlib.suppress(FileNotFoundError, ProcessLookupError):
        for task in Path(f"/proc/{pid}/task").iterdir():
            told = (task / "status").read_text().partition("\nvoluntary_ctxt_switches:")[2]
            count += int(told.split()[0]) + sum(_wakes(int(child)) for child in (task / "children").read_text().split())
    return count
