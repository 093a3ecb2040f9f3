"""The same job on what a Python team would otherwise take, in an environment of its own."""

import asyncio
import contextlib
import os
import time
from collections.abc import Iterator
from pathlib import Path

import asyncpg

from leadwire.infrastructure import settings
from ops.bench import environment
from ops.bench.delivery import world
from ops.bench.delivery.process import LEAST_CPU, Process
from ops.bench.delivery.sink import Sink
from ops.bench.delivery.speed import Speed

NAMES = ("procrastinate", "saq")
_HERE = Path(__file__).resolve().parent
_VENV = _HERE / ".venv-peers"
_NEEDED = [
    "procrastinate>=3,<4",
    "psycopg[binary,pool]>=3.2,<4",
    "saq[redis,hiredis]>=0.24",
    "aiohttp[speedups]>=3.12,<4",
]


async def drain(name: str, sink: Sink, count: int) -> Speed:
    """Jobs put in beforehand, one worker process, 128 at a time."""
    await world.fresh()
    python, database = await asyncio.to_thread(environment.python, _VENV, _NEEDED), await _database()
    command = (str(python), str(_HERE / "peer_apps" / f"with_{name}.py"))
    with _environ(PEER_DATABASE=database, PEER_REDIS=settings.get().redis_url):
        await (await asyncio.create_subprocess_exec(*command, "enqueue", sink.url(), str(count))).wait()
        base = await sink.count()
        async with Process("work", program=command) as worker:
            while await sink.count() - base < count // 10:
                await asyncio.sleep(0.01)
            first, start, before = await sink.count(), time.perf_counter(), worker.cpu()
            while await sink.count() - base < count:
                await asyncio.sleep(0.02)
            took, done = time.perf_counter() - start, count - (first - base)
            return Speed(done / took, max(worker.cpu() - before, LEAST_CPU) / done * 1e6)


async def _database() -> str:
    """An empty database beside ours."""
    ours = settings.get().database_url
    connection = await asyncpg.connect(ours)
    await connection.execute("DROP DATABASE IF EXISTS peer WITH (FORCE)")
    await connection.execute("CREATE DATABASE peer")
    await connection.close()
    return ours.replace("/leadwire?", "/peer?")


@contextlib.contextmanager
def _environ(**more: str) -> Iterator[None]:
    os.environ |= more
    yield
    for name in more:
        del os.environ[name]
