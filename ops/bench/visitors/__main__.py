"""`python -m ops.bench.visitors [--talks 500] [--streams 1000]`: turns one by one, all at once, and idle streams."""

import argparse
import asyncio
import os
import shutil
import statistics
import subprocess
import sys
import tempfile
import time
from pathlib import Path

import httpx

from leadwire.domain.accounts.changes import create_workspace
from leadwire.domain.bots import changes
from leadwire.domain.bots.flow import library
from leadwire.infrastructure import db
from leadwire.infrastructure.db.migrations import migrate
from leadwire.infrastructure.settings import Settings
from leadwire_development.embedded import Services, services
from ops.bench.api import measure
from ops.bench.visitors import guests


def main() -> None:
    parser = argparse.ArgumentParser(prog="python -m ops.bench.visitors", description=__doc__)
    parser.add_argument("--alone", type=int, default=100, help="conversations one after the other")
    parser.add_argument("--talks", type=int, default=500)
    parser.add_argument("--streams", type=int, default=1000)
    parser.add_argument("--port", type=int, default=8750)
    options = parser.parse_args()
    place = Path(tempfile.mkdtemp(prefix="leadwire-bench-"))
    place.chmod(0o711)
    try:
        with services(Settings(data_dir=place), durable=True) as up:
            bot = asyncio.run(_prepare(up.database_url))
            server = _serve(up, options.port)
            try:
                asyncio.run(_run(options, bot, server.pid, up.servers["PostgreSQL"].pid()))
            finally:
                server.terminate()
                server.wait(30)
    finally:
        shutil.rmtree(place, ignore_errors=True)


async def _prepare(url: str) -> str:
    await db.open_pool(url, 2)
    try:
        await migrate()
        workspace = await create_workspace("Benchmark")
        bot = await changes.create(workspace, "Bot")
        await changes.save_draft(workspace, bot, library.text("lead-qualification"))
        await changes.publish(workspace, bot)
    finally:
        await db.close_pool()
    return bot


def _serve(up: Services, port: int) -> "subprocess.Popen[bytes]":
    environ = {
        **os.environ,
        "LEADWIRE_DATABASE_URL": up.database_url,
        "LEADWIRE_REDIS_URL": up.redis_url,
        "LEADWIRE_TRUSTED_PROXIES": "127.0.0.0/8",
        "LEADWIRE_LOG_LEVEL": "warning",
    }
    command = [sys.executable, "-m", "leadwire", "serve", "--port", str(port)]
    started = subprocess.Popen(command, env=environ)
    for _ in range(200):
        try:
            if httpx.get(f"http://127.0.0.1:{port}/health/ready").is_success:
                return started
        except httpx.HTTPError:
            pass
        time.sleep(0.1)
    raise SystemExit("the server does not start")


async def _run(options: argparse.Namespace, bot: str, pid: int, postgres: int) -> None:
    limits = httpx.Limits(max_connections=None, max_keepalive_connections=0)  # one kept too long would be closed on us
    async with httpx.AsyncClient(base_url=f"http://127.0.0.1:{options.port}", limits=limits, timeout=120) as client:
        took: list[float] = []
        before = measure.cpu(pid), measure.cpu(postgres)
        for number in range(options.alone):
            await guests.talk(client, bot, number, took)
        used, used_by_postgres = _used(before, pid, postgres, took)
        cost = f"{used:.2f} ms of CPU a turn, PostgreSQL {used_by_postgres:.2f}"
        print(f"one by one    {len(took)} turns: {_told(took)}; {cost}")

        together: list[float] = []
        numbers = range(options.alone, options.alone + options.talks)
        start, before = time.perf_counter(), (measure.cpu(pid), measure.cpu(postgres))
        talks = await asyncio.gather(*(_guest(client.base_url, bot, number, together) for number in numbers))
        took_all = time.perf_counter() - start
        used, used_by_postgres = _used(before, pid, postgres, together)
        cost = f"{used:.2f} ms of CPU a turn, PostgreSQL {used_by_postgres:.2f}"
        rate = f"{len(together) / took_all:.0f} turns/s; longest {max(together):.0f} ms"
        print(f"all at once   {options.talks} conversations: {_told(together)}; {rate}; {cost}; none refused")

        numbers = range(numbers.stop, numbers.stop + max(0, options.streams - options.talks))
        for number in numbers:
            talks.append(await guests.talk(client, bot, number, []))
        small = _memory(pid)
        holding = asyncio.create_task(guests.wait(client, talks[: options.streams], 20))
        await asyncio.sleep(15)
        large = _memory(pid)
        print(f"idle streams  {await holding}: the server {small:.0f} -> {large:.0f} MB")


async def _guest(url: httpx.URL, bot: str, number: int, took: list[float]) -> tuple[str, dict[str, str]]:
    """With a client of their own, as browsers have: a pool of httpx's looks through all its connections each time."""
    async with httpx.AsyncClient(base_url=url, timeout=120, verify=False, trust_env=False) as client:
        return await guests.talk(client, bot, number, took)


def _used(before: tuple[float, float], pid: int, postgres: int, took: list[float]) -> tuple[float, float]:
    """Milliseconds of CPU that the server and PostgreSQL have used for each turn."""
    return (measure.cpu(pid) - before[0]) / len(took) * 1e3, (measure.cpu(postgres) - before[1]) / len(took) * 1e3


def _memory(pid: int) -> float:
    lines = Path(f"/proc/{pid}/status").read_text().splitlines()
    return next(int(line.split()[1]) for line in lines if line.startswith("VmRSS")) / 1024


def _told(took: list[float]) -> str:
    ordered = sorted(took)
    return f"p50 {statistics.median(ordered):.1f} ms, p95 {ordered[int(len(ordered) * 0.95)]:.1f} ms"


if __name__ == "__main__":
    main()
