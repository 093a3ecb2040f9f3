"""`python -m ops.bench.api`: both servers on one database, in turns, and what each costs."""

import argparse
import json
import os
import platform
import shutil
import statistics
import subprocess
import sys
import tempfile
from pathlib import Path
from typing import Any

from leadwire.embedded import services
from leadwire.settings import Settings
from ops.bench.api import checks, servers
from ops.bench.api import data as database
from ops.bench.api.data import Data
from ops.bench.api.servers import Running

KINDS = {
    "list": "GET /v1/leads?limit=20",
    "lead": "GET /v1/leads/{id}",
    "conversation": "GET /v1/conversations/{id}",
    "patch": "PATCH /v1/leads/{id}",
}
Run = dict[str, float]


def main() -> None:
    options = _options()
    if sys.platform != "linux":
        raise SystemExit("this reads /proc and pins processes to cores: Linux only")
    cores = sorted(os.sched_getaffinity(0))
    server_core, other_core = cores[0], cores[-1]
    python = servers.baseline_python()
    place = Path(tempfile.mkdtemp(prefix="leadwire-bench-"))
    place.chmod(0o711)
    os.sched_setaffinity(0, {other_core})  # inherited by PostgreSQL, Redis and the load
    try:
        with services(Settings(data_dir=place), durable=True) as running:
            print(f"filling a database with {options.leads} leads ...", file=sys.stderr)
            data = database.make(running.database_url, options.leads)
            urls = (running.database_url, running.redis_url)
            postgres = running.servers["PostgreSQL"].pid()
            with servers.both(python, urls, data, server_core, options.port) as pair:
                _head(python, data, options, len(cores))
                print(checks.check(pair, data, running.database_url) + ".\n")
                _table(_measure(pair, data, postgres, options), options)
    finally:
        shutil.rmtree(place, ignore_errors=True)


def _measure(pair: list[Running], data: Data, postgres: int, options: Any) -> dict[tuple[str, str], list[Run]]:
    """Every kind on every server, `rounds` times, after a round to warm up; who goes first alternates."""
    found: dict[tuple[str, str], list[Run]] = {}
    for number in range(options.rounds + 1):
        for kind in options.kinds:
            for server in pair if number % 2 else pair[::-1]:
                seconds = options.seconds if number else min(2.0, options.seconds)
                run = _run(server, kind, data, postgres, seconds, options.connections)
                if number:
                    found.setdefault((kind, server.name), []).append(run)
                    print(f"round {number} {kind} {server.name}: {run['per_cpu']:.0f}", file=sys.stderr)
    return found


def _run(server: Running, kind: str, data: Data, postgres: int, seconds: float, connections: int) -> Run:
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
    server_before, postgres_before = servers.cpu(server.pid), servers.cpu(postgres)
    answer = subprocess.run(
        [sys.executable, "-m", "ops.bench.api.load"],
        input=json.dumps(orders),
        capture_output=True,
        text=True,
        check=False,
    )
    used, used_by_postgres = servers.cpu(server.pid) - server_before, servers.cpu(postgres) - postgres_before
    if answer.returncode:
        raise SystemExit(f"the load failed: {answer.stderr[-2000:]}")
    told = json.loads(answer.stdout)
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


def _head(python: Path, data: Data, options: Any, cores: int) -> None:
    leads, conversations, messages = data.counts
    cpu = next(
        (
            line.split(":", 1)[1].strip()
            for line in Path("/proc/cpuinfo").read_text().splitlines()
            if "model name" in line
        ),
        platform.machine(),
    )
    print(f"Machine: {cpu}, {cores} cores, Linux {platform.release()}, Python {platform.python_version()}, ", end="")
    print(f"load average {os.getloadavg()[0]:.2f} at the start of the runs")
    print(f"Data: {leads:,} leads, {conversations:,} conversations, {messages:,} messages, PostgreSQL {data.postgres}")
    print(f"Beside: {servers.baseline_versions(python)}; uvicorn with uvloop and httptools, asyncpg, on both sides")
    print(
        f"{options.connections} connections, pool of {servers.POOL}; {options.rounds} rounds of {options.seconds:g} s "
        "in turns; the server alone on one core, load and PostgreSQL on the other. Medians."
    )


def _table(found: dict[tuple[str, str], list[Run]], options: Any) -> None:
    print(f"{'':28} {'':9} {'req/CPU-s':>9} {'ratio':>6} {'(rounds)':>13} ", end="")
    print(f"{'req/s':>6} {'p50 ms':>7} {'p99 ms':>7} {'PG us/req':>9}")
    for kind in options.kinds:
        ours, theirs = found[kind, "leadwire"], found[kind, "fastapi"]
        pairs = [mine["per_cpu"] / other["per_cpu"] for mine, other in zip(ours, theirs, strict=True)]
        for name, runs in (("leadwire", ours), ("fastapi", theirs)):
            middle = {key: statistics.median(run[key] for run in runs) for key in runs[0]}
            ratio = spread = ""
            if name == "leadwire":
                ratio = f"{middle['per_cpu'] / statistics.median(run['per_cpu'] for run in theirs):.2f}x"
                spread = f"({min(pairs):.2f}-{max(pairs):.2f})"
            print(
                f"{KINDS[kind] if ratio else '':28} {name:9} {middle['per_cpu']:9.0f} {ratio:>6} {spread:>13} "
                f"{middle['per_second']:6.0f} {middle['p50']:7.1f} {middle['p99']:7.1f} {middle['postgres']:9.0f}"
            )
    print("\nCPU is the server process's. Leadwire also writes request ids and a Link header, checks its key against")
    print("the database every 5 s and nudges its relay; it keeps exact totals where the FastAPI app counts every time,")
    print("so that list waits for PostgreSQL, which is in req/s, p50, p99 and PG.")


def _options() -> argparse.Namespace:
    parser = argparse.ArgumentParser(prog="python -m ops.bench.api", description=__doc__)
    parser.add_argument("--seconds", type=float, default=4.0, help="of each run")
    parser.add_argument("--rounds", type=int, default=3)
    parser.add_argument("--kinds", default=",".join(KINDS), help=f"of {', '.join(KINDS)}")
    parser.add_argument("--leads", type=int, default=100_000)
    parser.add_argument("--connections", type=int, default=32)
    parser.add_argument("--port", type=int, default=8630, help="the first of two")
    options = parser.parse_args()
    options.kinds = options.kinds.split(",")
    if unknown := set(options.kinds) - KINDS.keys():
        parser.error(f"no such kind: {', '.join(unknown)}")
    if options.leads < 100 or options.rounds < 1 or options.seconds <= 0:
        parser.error("at least 100 leads, 1 round, and some time")
    return options


if __name__ == "__main__":
    main()
