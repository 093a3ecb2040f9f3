"""The speed of webhook delivery, on real servers and processes, compared with alternatives in the same run.

    uv run python -m ops.bench.delivery [--events 50000] [--seconds 10] [--only drain,latency]

relay      events left to the relay -> delivery rows -> stream entries, one relay, events/s and CPU per event
drain      the same events through relay and worker processes to a receiver, CPU and the servers' work per delivery
workers    one and two worker processes: as fast as the machine goes, and with a receiver that takes 50 ms
latency    changes at a steady rate, from the commit to the receiver having the request, p50 and p99
isolation  one quiet endpoint alone, and beside 1, 12 and 100 that hang, answer late, reset, or hang in DNS
bars       (only when asked for) the same beside what its p50 may be, and beside --loops busy loops
backlog    200,000 deliveries owed to a dead endpoint: Redis's memory, and the healthy ones
crowd      one quiet endpoint beside 1,000,000 deliveries that wait, and beside 500 events that 2,000 endpoints want
bare       the same POSTs by httpx.AsyncClient, by pyreqwest alone, and by aiohttp (uv run --with aiohttp)
change     a change itself, without HTTP and without delivery: CPU, WAL and disk of each
soak       (only when asked for) 300 events a second for 45 minutes: memory of each process, tables of open work
steps      (only when asked for) a rising load: what is delivered, how late, and what each event costs; --svg draws it
peers      the same job on procrastinate (PostgreSQL) and on SAQ (Redis), as a Python team would otherwise write it

All of it shares this machine's cores: PostgreSQL (fsync on), Valkey and the receiver included.
"""

import argparse
import os
import platform
import shutil
import tempfile
from pathlib import Path

import uvloop

from leadwire.infrastructure import db, redis_pool, settings
from leadwire.infrastructure.db.migrations import migrate
from leadwire.infrastructure.settings import Settings
from leadwire_development.embedded import services
from ops.bench.delivery import parts


def main() -> None:
    """Run what was asked for and print it."""
    options = argparse.ArgumentParser(prog="python -m ops.bench.delivery")
    options.add_argument("--events", type=int, default=50_000, help="to drain")
    options.add_argument(
        "--seconds", type=float, default=10.0, help="of each rate of latency and steps; of each half of isolation"
    )
    options.add_argument("--loops", type=int, default=0, help="processes beside bars that take CPU and do nothing")
    options.add_argument("--minutes", type=float, default=45.0, help="of soak")
    options.add_argument("--rate", type=float, default=300.0, help="events a second, of soak")
    options.add_argument("--rates", default="200,400,800,1200,1600,2000,2500,3000,4000", help="a second, of steps")
    options.add_argument("--workers", type=int, default=1, help="of steps")
    options.add_argument("--svg", type=Path, help="where steps are drawn")
    usual = [name for name in parts.PARTS if name not in {"bars", "soak", "steps"}]
    options.add_argument("--only", default=",".join(usual), help=f"of {', '.join(parts.PARTS)}")
    asked = options.parse_args()
    if unknown := set(asked.only.split(",")) - parts.PARTS.keys():
        options.error(f"no such part: {', '.join(unknown)}")
    directory = Path(tempfile.mkdtemp(prefix="leadwire-bench-"))
    directory.chmod(0o711)
    try:
        with services(Settings(data_dir=directory), durable=True) as running:
            os.environ |= {
                "LEADWIRE_DATA_DIR": str(directory),
                "LEADWIRE_DATABASE_URL": running.database_url,
                "LEADWIRE_REDIS_URL": running.redis_url,
                "LEADWIRE_ALLOWED_NETWORKS": "127.0.0.0/8",
                "LEADWIRE_NEW_HOST_RATE": "0",  # the receivers have answered before
            }
            settings.get.cache_clear()
            uvloop.run(_run(asked))
    finally:
        shutil.rmtree(directory, ignore_errors=True)


async def _run(asked: argparse.Namespace) -> None:
    chosen = settings.get()
    await db.open_pool(chosen.database_url, 10)
    redis_pool.connect(chosen.redis_url)
    await migrate()
    machine = f"{platform.machine()}, {os.cpu_count()} cores, Python {platform.python_version()}"
    print(f"{machine}, load {os.getloadavg()[0]:.1f} at the start", flush=True)
    for name in asked.only.split(","):
        await parts.PARTS[name](asked)
    await redis_pool.close()
    await db.close_pool()


if __name__ == "__main__":
    main()
