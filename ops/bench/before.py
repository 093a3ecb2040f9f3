"""`python -m ops.bench.before COMMIT`: the API and sign-ins of this checkout beside those of a commit, in turns.

Both serve the same database, which has the tables of this checkout, as during an upgrade. Each has the first core to
itself while it is asked. What counts is the CPU of a request, and of a sign-in, whose password is hashed there.
"""

import argparse
import asyncio
import os
import shutil
import statistics
import subprocess
import sys
import tempfile
from pathlib import Path
from typing import Any, Final

import httpx

from leadwire.domain.accounts.changes import team
from leadwire.infrastructure import db, redis_pool
from leadwire.infrastructure.settings import Settings
from leadwire_development.embedded import services
from ops.bench.api import data as database
from ops.bench.api import measure, servers
from ops.bench.api.data import Data
from ops.bench.api.servers import Program, Running

_PERSON: Final = {"email": "ada@example.org", "password": "four quiet grey horses"}
_SIGN_IN: Final = "POST /sign-in"


def main() -> None:
    parser = argparse.ArgumentParser(prog="python -m ops.bench.before", description=__doc__)
    parser.add_argument("commit")
    parser.add_argument("--rounds", type=int, default=9)
    parser.add_argument("--seconds", type=float, default=3.0, help="of each run of the API")
    parser.add_argument("--sign-ins", type=int, default=20, help="of each run")
    parser.add_argument("--leads", type=int, default=20_000)
    parser.add_argument("--connections", type=int, default=32)
    parser.add_argument("--most", type=float, default=1.03, help="times the CPU of before")
    parser.add_argument("--port", type=int, default=8670)
    options = parser.parse_args()
    server_core, other_core = measure.cores()
    place = Path(tempfile.mkdtemp(prefix="leadwire-bench-"))
    place.chmod(0o711)
    os.sched_setaffinity(0, {other_core})
    try:
        programs = {"before": _of(options.commit, place / "before"), "now": servers.leadwire()}
        with services(Settings(data_dir=place), durable=True) as up:
            data = database.make(up.database_url, options.leads)
            link = asyncio.run(_invite(up.database_url, up.redis_url, data.workspace))
            postgres = up.servers["PostgreSQL"].pid()
            with servers.running(programs, (up.database_url, up.redis_url), data, server_core, options.port) as pair:
                raise SystemExit(_table(_runs(pair, data, postgres, link, options), options.most))
    finally:
        shutil.rmtree(place, ignore_errors=True)


def _of(commit: str, checkout: Path) -> Program:
    """The API of a commit, in the environment of this checkout."""
    checkout.mkdir()
    archive = subprocess.run(["git", "archive", commit, "src", "migrations"], stdout=subprocess.PIPE, check=True)
    subprocess.run(["tar", "-x", "-C", checkout], input=archive.stdout, check=True)
    ours = servers.leadwire()
    return ours._replace(command=["env", f"PYTHONPATH={checkout / 'src'}", *ours.command])


async def _invite(database_url: str, redis_url: str, workspace: str) -> str:
    await db.open_pool(database_url, 2)
    redis_pool.connect(redis_url)
    try:
        return await team.invite(workspace, _PERSON["email"], "agent")
    finally:
        await redis_pool.close()
        await db.close_pool()


def _runs(
    pair: list[Running], data: Data, postgres: int, link: str, options: Any
) -> dict[tuple[str, str], list[float]]:
    """Milliseconds of CPU of each kind of request on both, after a round to warm up; who goes first alternates."""
    joined = httpx.post(f"http://127.0.0.1:{pair[0].port}/join/{link}", data=_PERSON)
    mark = {"leadwire-browser": joined.cookies["leadwire-browser"]}
    took: dict[tuple[str, str], list[float]] = {}
    for number in range(options.rounds + 1):
        for server in pair if number % 2 else pair[::-1]:
            costs = {_SIGN_IN: _sign_in(server, mark, options.sign_ins)}
            for kind, name in measure.KINDS.items():
                run = measure.run(server, kind, data, postgres, options.seconds, options.connections)
                costs[name] = 1000 / run["per_cpu"]
            for name, cost in costs.items() if number else ():
                took.setdefault((name, server.name), []).append(cost)
        print(f"round {number} of {options.rounds}", file=sys.stderr)
    return took


def _sign_in(server: Running, mark: dict[str, str], count: int) -> float:
    used = measure.cpu(server.pid)
    for _ in range(count):
        # Not verified: to read the certificates takes longer than to sign in.
        url = f"http://127.0.0.1:{server.port}/sign-in"
        answer = httpx.post(url, data=_PERSON, cookies=mark, timeout=60, verify=False)
        if answer.status_code != httpx.codes.SEE_OTHER:
            raise SystemExit(f"{server.name} lets nobody in: {answer.status_code}")
    return (measure.cpu(server.pid) - used) / count * 1000


def _table(took: dict[tuple[str, str], list[float]], most: float) -> bool:
    """Print it. Return whether anything costs more than it may."""
    print(f"{'ms of CPU, medians':28}{'before':>9}{'now':>9}{'ratio':>7}{'of rounds':>15}")
    ratios = []
    for name in dict.fromkeys(name for name, _ in took):
        before, now = took[name, "before"], took[name, "now"]
        rounds = [after / first for first, after in zip(before, now, strict=True)]
        ratios.append(statistics.median(rounds))
        spread = f"({min(rounds):.2f}-{max(rounds):.2f})"
        line = f"{statistics.median(before):9.3f}{statistics.median(now):9.3f}{ratios[-1]:7.3f}{spread:>15}"
        print(f"{name:28}{line}")
    return max(ratios) > most


if __name__ == "__main__":
    main()
