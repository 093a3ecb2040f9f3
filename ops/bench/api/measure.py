"""One run: a load on one server for some seconds, and what it cost."""

import os
import sys
from pathlib import Path

import uvloop

from ops.bench.api.data import Data
from ops.bench.api.load import load
from ops.bench.api.servers import Running

KINDS = {
    "list": "GET /v1/leads?limit=20",
    "lead": "GET /v1/leads/{id}",
    "conversation": "GET /v1/conversations/{id}",
    "patch": "PATCH /v1/leads/{id}",
}
Run = dict[str, float]
_TICKS = os.sysconf("SC_CLK_TCK")


def run(server: Running, kind: str, data: Data, postgres: int, seconds: float, connections: int) -> Run:
    """Raises SystemExit when an answer is not 200."""
    conversation = kind == "conversation"
    orders = {
        "kind": kind,
        "key": data.key,
        "port": server.port,
        "seconds": seconds,
        "connections": connections,
        "path": "/v1/conversations" if conversation else "/v1/leads",
        "ids": data.conversations if conversation else data.leads,
    }
    server_before, postgres_before = cpu(server.pid), cpu(postgres)
    told = uvloop.run(load(orders))
    used, used_by_postgres = cpu(server.pid) - server_before, cpu(postgres) - postgres_before
    if told["bad"] or not told["count"]:
        raise SystemExit(f"{server.name} {kind}: {told['bad']} bad answers, the first: {told['first_bad']}")
    count = told["count"]
    return {
        "per_cpu": count / used,
        "per_second": count / told["elapsed"],
        "p50": told["p50"],
        "p99": told["p99"],
        "postgres": used_by_postgres / count * 1e6,
    }


def cpu(pid: int) -> float:
    """CPU seconds of a process and its children: of the living in nanoseconds, of the dead in clock ticks."""
    process = Path(f"/proc/{pid}")
    used = 0.0
    children: list[str] = []
    try:
        ticks = process.joinpath("stat").read_text().rsplit(")", 1)[1].split()[13:15]
        for task in process.joinpath("task").iterdir():
            used += int((task / "schedstat").read_text().split()[0]) / 1e9
            children += (task / "children").read_text().split()
    except (FileNotFoundError, ProcessLookupError):
        return 0.0
    return used + sum(int(count) for count in ticks) / _TICKS + sum(cpu(int(child)) for child in children)


def cores() -> tuple[int, int]:
    """The server's core, and the one for everybody else. Raises SystemExit where processes cannot be pinned."""
    if sys.platform != "linux":
        raise SystemExit("this reads /proc and pins processes to cores: Linux only")
    mine = sorted(os.sched_getaffinity(0))
    return mine[0], mine[-1]
