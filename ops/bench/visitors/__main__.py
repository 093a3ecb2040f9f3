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

_ALONE = 100  # conversations one after the other


def main() -> None:
    parser = argparse.ArgumentParser(prog="python -m ops.bench.visitors", description=__doc__)
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
                asyncio.run(_run(options, bot, server.pid))
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


async def _run(options: argparse.Namespace, bot: str, pid: int) -> None:
    limits = httpx.Limits(max_connections=None, max_keepalive_connections=0)  # one kept too long would be closed on us
    async with httpx.AsyncClient(base_url=f"http://127.0.0.1:{options.port}", limits=limits, timeout=120) as client:
        took: list[float] = []
        before = measure.cpu(pid)
        for number in range(_ALONE):
            await guests.talk(client, bot, number, took)
        used = (measure.cpu(pid) - before) / len(took) * 1e3
        print(f"one by one    {len(took)} turns: {_told(took)}; {used:.1f} ms of the server's CPU a turn")

        together: list[float] = []
        numbers = range(_ALONE, _ALONE + options.talks)
        start, before = time.perf_counter(), measure.cpu(pid)
        talks = await asyncio.gather(*(_guest(client.base_url, bot, number, together) for number in numbers))
        took_all, used = time.perf_counter() - start, measure.cpu(pid) - before
        rate = f"{len(together) / took_all:.0f} turns/s, {used / took_all:.0%} of a core"
        print(f"all at once   {options.talks} conversations: {_told(together)}; {rate}; none refused")

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


def _memory(pid: int) -> float:
    lines = Path(f"/proc/{pid}/status").read_text().splitlines()
    return next(int(line.split()[1]) for line in lines if line.startswith("VmRSS")) / 1024


def _told(took: list[float]) -> str:
    ordered = sorted(took)
    return f"p50 {statistics.median(ordered):.1f} ms, p95 {ordered[int(len(ordered) * 0.95)]:.1f} ms"


if __name__ == "__main__":
    main()
