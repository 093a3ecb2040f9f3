"""Drills: in each, one part of a real system breaks, and it is diagnosed and repaired with the commands of a runbook.

    uv run python -m ops.drills [NAME ...]        # all of them without a name; --list names them
    uv run python -m ops.drills upgrade --redis sentinel        # one that leaves Redis alone, on another topology

Prints what is done and found. Exits with 1 when a check fails. Settings, which are printed, shorten the times.
"""

import argparse
import asyncio
import contextlib
import importlib
import json
import os
import shutil
import subprocess
import sys
import tempfile
from pathlib import Path
from typing import Any, Final

from leadwire.infrastructure import settings
from leadwire.infrastructure.settings import Settings
from leadwire_development.embedded import Services, services
from ops.drills.redis_topologies import topology
from ops.drills.sandbox import FIGURES, prepared
from ops.drills.servers import Servers

DRILLS: Final = (
    *("hanging-receiver", "redis-gone", "worker-wedged", "postgres-failover", "poison-event", "dead-letters"),
    *("restore", "rolling-restart", "upgrade", "postgres-frozen", "redis-sentinel", "redis-cluster"),
    *("snapshot-held", "owner-lives", "at-once", "cells", "by-itself", "followers", "exact-copies"),
)


def main() -> int:
    """Run the drills and return the exit code."""
    options = argparse.ArgumentParser(prog="python -m ops.drills")
    options.add_argument("name", nargs="*", choices=[[], *DRILLS], metavar="NAME")
    options.add_argument("--list", action="store_true")
    options.add_argument("--redis", choices=["sentinel", "cluster"], help="instead of one server")
    options.add_argument("--runs", type=int, default=1, help="of one drill: its figures, one line each, in a table")
    asked = options.parse_args()
    if asked.list:
        for name in DRILLS:
            print(f"{name:<18} {(_module(name).__doc__ or '').strip()}")
        return 0
    if asked.runs > 1 and len(asked.name) == 1:
        return _repeated(asked.name[0], asked.runs)
    if len(asked.name) == 1:
        return play(asked.name[0], _module(asked.name[0]), asked.redis)
    results = {  # a process for each: what one leaves in memory is none of the next one's business
        name: subprocess.run(
            [sys.executable, "-m", "ops.drills", name, *(["--redis", asked.redis] if asked.redis else [])], check=False
        ).returncode
        for name in asked.name or DRILLS
    }
    print("\n" + "\n".join(f"{'ok    ' if code == 0 else 'FAILED'}  {name}" for name, code in results.items()))
    return 1 if any(results.values()) else 0


def _repeated(name: str, runs: int) -> int:
    """Run a drill so often, each in a process. Print a table of what it has found. Return the exit code."""
    rows, failed = [], 0
    for run in range(1, runs + 1):
        with subprocess.Popen(
            [sys.executable, "-m", "ops.drills", name], stdout=subprocess.PIPE, text=True, bufsize=1
        ) as process:
            for line in process.stdout or ():
                print(line, end="", flush=True)
                if line.startswith(FIGURES):
                    rows.append({"run": run, **json.loads(line.removeprefix(FIGURES))})
        failed += process.returncode != 0
    print("\n| " + " | ".join(rows[0] if rows else ()) + " |\n" + "|---" * len(rows[0] if rows else ()) + "|")
    for row in rows:
        print("| " + " | ".join(map(str, row.values())) + " |")
    print(f"\n{runs - failed} of {runs} runs passed")
    return 1 if failed else 0


def _module(name: str) -> Any:
    return importlib.import_module(f"ops.drills.{name.replace('-', '_')}")


def play(name: str, drill: Any, redis: str | None = None) -> int:
    """Run a drill on servers and processes of its own; `redis` is a topology of it. Return the exit code."""
    directory = Path(tempfile.mkdtemp(prefix="leadwire-drill-"))
    directory.chmod(0o711)  # as root the servers run as `nobody`
    try:
        with (
            services(Settings(data_dir=directory)) as running,
            topology(redis) if redis else getattr(drill, "redis", contextlib.nullcontext)() as group,
        ):
            for variable in [variable for variable in os.environ if variable.startswith("LEADWIRE_")]:
                del os.environ[variable]
            os.environ |= _environment(directory, running, drill, group.url if group else running.redis_url)
            settings.get.cache_clear()
            print(f"{name}: {(drill.__doc__ or '').strip()}", flush=True)
            print(f"   how to mend it: {drill.RUNBOOK}", flush=True)
            print(
                f"   settings: {', '.join(f'{key}={value}' for key, value in drill.SETTINGS.items()) or 'the defaults'}"
            )
            return asyncio.run(_on_sandbox(running, directory, drill, group))
    finally:
        shutil.rmtree(directory, ignore_errors=True)


def _environment(directory: Path, running: Services, drill: Any, redis_url: str) -> dict[str, str]:
    database_url = running.database_url
    if hasattr(drill, "database_url"):
        database_url = drill.database_url(Servers(running, directory))
    chosen = {
        "DATA_DIR": str(directory),
        "DATABASE_URL": database_url,
        "REDIS_URL": redis_url,
        "ALLOWED_NETWORKS": "127.0.0.0/8",
        "RATE_LIMIT": "0",
        **drill.SETTINGS,
    }
    return {f"LEADWIRE_{name}": value for name, value in chosen.items()}


async def _on_sandbox(running: Services, directory: Path, drill: Any, group: Any) -> int:
    async with prepared(running, directory, drill) as sandbox:
        sandbox.redis = group
        await drill.run(sandbox)
    return 1 if sandbox.failed else 0


if __name__ == "__main__":
    sys.exit(main())
