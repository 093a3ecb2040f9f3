"""`python -m ops.bench.api`: Leadwire beside FastAPI + SQLAlchemy and PostgreSQL alone, and what its features cost."""

import argparse
import os
import platform
import shutil
import sys
import tempfile
from pathlib import Path
from typing import Any

from leadwire.infrastructure.settings import Settings
from leadwire_development.embedded import services
from ops.bench.api import baseline, checks, compare, features, measure, servers
from ops.bench.api import data as database
from ops.bench.api.data import Data
from ops.bench.api.measure import KINDS
from ops.bench.api.variants import VARIANTS


def main() -> None:
    options = _options()
    server_core, other_core = measure.cores()
    place = Path(tempfile.mkdtemp(prefix="leadwire-bench-"))
    place.chmod(0o711)
    os.sched_setaffinity(0, {other_core})  # inherited by PostgreSQL, Redis, pgbench and the load
    try:
        with services(Settings(data_dir=place), durable=True) as running:
            print(f"filling a database with {options.leads} leads ...", file=sys.stderr)
            data = database.make(running.database_url, options.leads)
            urls = (running.database_url, running.redis_url)
            postgres = running.servers["PostgreSQL"].pid()
            _head(data, options)
            if options.kinds:
                _compare(urls, data, server_core, postgres, options)
            if options.features:
                features.table(features.costs(urls, data, server_core, postgres, options), options)
    finally:
        shutil.rmtree(place, ignore_errors=True)


def _compare(urls: tuple[str, str], data: Data, core: int, postgres: int, options: Any) -> None:
    python = baseline.python()
    programs = {"leadwire": servers.leadwire(), "fastapi": servers.fastapi(python)}
    with servers.running(programs, urls, data, core, options.port) as pair:
        print(f"Beside: {baseline.versions(python)}; uvicorn with uvloop and httptools, asyncpg, on both sides")
        same = checks.check(pair, data, urls[0])
        print(f"{same}. {options.rounds} rounds of {options.seconds:g} s in turns; medians.\n")
        compare.table(compare.runs(pair, data, urls[0], postgres, options), options)


def _head(data: Data, options: Any) -> None:
    leads, conversations, messages = data.counts
    lines = Path("/proc/cpuinfo").read_text().splitlines()
    cpu = next((line.split(":", 1)[1].strip() for line in lines if "model name" in line), platform.machine())
    print(
        f"Machine: {cpu}, {os.cpu_count()} cores, Linux {platform.release()}, Python {platform.python_version()}, ",
        end="",
    )
    print(f"load average {os.getloadavg()[0]:.2f} at the start of the runs")
    print(f"Data: {leads:,} leads, {conversations:,} conversations, {messages:,} messages, PostgreSQL {data.postgres}")
    print(f"{options.connections} connections, pool of {servers.POOL}; one server process, alone on one core, ", end="")
    print("load and PostgreSQL on the other")


def _options() -> argparse.Namespace:
    parser = argparse.ArgumentParser(prog="python -m ops.bench.api", description=__doc__)
    parser.add_argument("--kinds", default=",".join(KINDS), help=f"to compare: of {', '.join(KINDS)}, or none")
    parser.add_argument("--rounds", type=int, default=3, help="of the comparison")
    parser.add_argument("--seconds", type=float, default=4.0, help="of each of its runs")
    parser.add_argument("--features", default=",".join(VARIANTS), help=f"to weigh: of {', '.join(VARIANTS)}, or none")
    parser.add_argument("--slices", type=int, default=9, help="rounds of weighing")
    parser.add_argument("--slice", type=float, default=1.0, help="seconds of each run")
    parser.add_argument("--leads", type=int, default=100_000)
    parser.add_argument("--connections", type=int, default=32)
    parser.add_argument("--port", type=int, default=8630, help="the first of a dozen")
    options = parser.parse_args()
    for name, known in (("kinds", KINDS), ("features", VARIANTS)):
        given = getattr(options, name)
        chosen = [] if given == "none" else given.split(",")
        if unknown := set(chosen) - known.keys():
            parser.error(f"--{name}: there is no {', '.join(sorted(unknown))}")
        setattr(options, name, chosen)
    if options.leads < 100 or min(options.rounds, options.slices) < 1 or min(options.seconds, options.slice) <= 0:
        parser.error("at least 100 leads, 1 round, and some time")
    return options


if __name__ == "__main__":
    main()
