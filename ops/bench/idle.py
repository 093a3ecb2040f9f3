"""`python -m ops.bench.idle`: what 10,000 workspaces with 100,000 endpoints cost while nothing happens.

The same installation is measured twice, empty and with them: one process of each, PostgreSQL and Valkey,
all started anew. CPU is what the operating system accounted, memory each process's own part (PSS).
"""

import argparse
import asyncio
import os
import shutil
import subprocess
import sys
import tempfile
import time
from collections.abc import Iterator, Mapping
from contextlib import ExitStack, contextmanager
from pathlib import Path
from typing import Final, NamedTuple

from leadwire.delivery.endpoints.table import WebhookEndpoint
from leadwire.domain.accounts import changes as accounts
from leadwire.domain.accounts.table import Workspace
from leadwire.domain.webhooks import changes as webhooks
from leadwire.infrastructure import db, ids, redis_pool
from leadwire.infrastructure.db.migrations import migrate
from leadwire.infrastructure.settings import Settings
from leadwire_development.embedded import Services, services
from ops.bench.api.measure import cpu
from ops.bench.delivery import world

CPU: Final = 0.02  # of a core
MEMORY: Final = 50.0  # MB
_PROCESSES: Final = {name: (name,) for name in ("relay", "deliver", "background")} | {"serve": ("serve", "--port", "0")}


class Cost(NamedTuple):
    """Of one part: the share of a core, and MB."""

    cpu: float
    memory: float

    def __str__(self) -> str:
        return f"{self.cpu:7.2%} {self.memory:6.1f} MB"


def main() -> None:
    parser = argparse.ArgumentParser(prog="python -m ops.bench.idle", description=__doc__)
    parser.add_argument("--workspaces", type=int, default=10_000)
    parser.add_argument("--endpoints", type=int, default=100_000)
    parser.add_argument("--seconds", type=float, default=180, help="for each of the two measurements")
    parser.add_argument("--settle", type=float, default=60, help="seconds from the start to a measurement")
    options = parser.parse_args()
    place = Path(tempfile.mkdtemp(prefix="leadwire-bench-"))
    place.chmod(0o711)
    os.environ |= {"LEADWIRE_DATA_DIR": str(place), "LEADWIRE_ALLOWED_NETWORKS": "127.0.0.0/8"}
    os.environ["LEADWIRE_NEW_HOST_RATE"] = "0"
    try:
        with _servers(place) as up:
            asyncio.run(_prepare(up, 0, 0))
        empty = _measure(place, options)
        with _servers(place) as up:
            asyncio.run(_prepare(up, options.workspaces, options.endpoints))
        full = _measure(place, options)
    finally:
        shutil.rmtree(place, ignore_errors=True)
    print(f"{options.workspaces:,} workspaces and {options.endpoints:,} endpoints, idle for {options.seconds:g} s:")
    more = {part: Cost(*(a - b for a, b in zip(full[part], empty[part], strict=True))) for part in full}
    print(f"{'':10}  {'empty':>17}  {'with them':>17}  {'more':>17}")
    for part, cost in more.items():
        print(f"{part:10}  {empty[part]}  {full[part]}  {cost}")
    total = more["together"]
    print(f"allowed: {CPU:.0%} of a core and {MEMORY:g} MB more")
    raise SystemExit(total.cpu > CPU or total.memory > MEMORY)


@contextmanager
def _servers(place: Path) -> Iterator[Services]:
    with services(Settings(data_dir=place), durable=True) as up:
        os.environ |= {"LEADWIRE_DATABASE_URL": up.database_url, "LEADWIRE_REDIS_URL": up.redis_url}
        yield up


async def _prepare(up: Services, workspaces: int, endpoints: int) -> None:
    await db.open_pool(up.database_url, 2)
    redis_pool.connect(up.redis_url)
    try:
        await migrate()
        if workspaces:
            workspace = await accounts.create_workspace("idle")
            endpoint = await webhooks.create(workspace, "https://example.com/hook", ["lead.created"])
            await webhooks.enable(workspace, endpoint.id)
            await world.open_endpoints()
            owners = [ids.new("ws") for _ in range(workspaces)]
            await _copy(Workspace, {"id": owners})
            whose = [owners[number % workspaces] for number in range(endpoints)]
            await _copy(WebhookEndpoint, {"id": [ids.new("we") for _ in whose], "workspace_id": whose})
        await db.rows("VACUUM (FREEZE, ANALYZE)")
        await db.rows("CHECKPOINT")
    finally:
        await redis_pool.close()
        await db.close_pool()


async def _copy(table: type[Workspace | WebhookEndpoint], values: Mapping[str, list[str]]) -> None:
    """Add a copy of a table's only row for each of the values."""
    others = [name for column in table.all_columns() if (name := column._meta.name) not in values]
    names = ", ".join([*values, *others])
    chosen = ", ".join([*(f"made.{name}" for name in values), *(f"t.{name}" for name in others)])
    places = ", ".join(f"${place}::text[]" for place in range(1, len(values) + 1))
    name = table._meta.tablename
    await db.rows(
        f"INSERT INTO {name} ({names}) SELECT {chosen} FROM {name} t, unnest({places}) made({', '.join(values)})",
        *values.values(),
    )


def _measure(place: Path, options: argparse.Namespace) -> dict[str, Cost]:
    """What each part costs, and all together."""
    with _servers(place) as up, ExitStack() as stack:
        pids = {name: stack.enter_context(_process(arguments)) for name, arguments in _PROCESSES.items()}
        pids |= {name: server.pid() for name, server in up.servers.items()}
        time.sleep(options.settle)
        before, start = {name: cpu(pid) for name, pid in pids.items()}, time.monotonic()
        time.sleep(options.seconds)
        took = time.monotonic() - start
        found = {name: Cost((cpu(pid) - before[name]) / took, _memory(pid)) for name, pid in pids.items()}
    together = Cost(*(sum(column) for column in zip(*found.values(), strict=True)))
    return {**found, "together": together}


@contextmanager
def _process(arguments: tuple[str, ...]) -> Iterator[int]:
    environ = os.environ | {"LEADWIRE_LOG_LEVEL": "warning"}
    started = subprocess.Popen([sys.executable, "-m", "leadwire", *arguments], env=environ, stderr=subprocess.DEVNULL)
    try:
        yield started.pid
        if started.poll() is not None:
            raise SystemExit(f"{arguments[0]} has ended")
    finally:
        started.terminate()
        started.wait(60)


def _memory(pid: int) -> float:
    """MB of a process and its children. What several have in common counts once."""
    try:
        told = Path(f"/proc/{pid}/smaps_rollup").read_text()
        tasks = list(Path(f"/proc/{pid}/task").glob("*/children"))
        children = {child for task in tasks for child in task.read_text().split()}
    except (FileNotFoundError, ProcessLookupError):
        return 0.0
    own = next(int(line.split()[1]) for line in told.splitlines() if line.startswith("Pss:")) / 1024
    return own + sum(_memory(int(child)) for child in children)


if __name__ == "__main__":
    main()
