"""The wire's speed, on real servers and real processes, beside a bare HTTP client in the same run.

    uv run python -m ops.bench.delivery [--events 30000] [--rate 200] [--seconds 10]

relay    committed events -> delivery rows -> stream entries, one relay, events/s and CPU per event
drain    the same events through relay and worker processes to a receiver, CPU per delivery of the worker process
latency  changes at a steady rate, from the commit to the receiver having the request, p50 and p99
bare     the same POSTs by httpx.AsyncClient and by pyreqwest alone: what the rest of the wire is measured against

All of it shares this machine's cores, PostgreSQL (fsync on), Valkey and the receiver included.
"""

import argparse
import os
import platform
import shutil
import statistics
import tempfile
import time
from pathlib import Path

import uvloop

from leadwire import db, redis_pool, settings
from leadwire.embedded import services
from leadwire.migrate import migrate
from leadwire.settings import Settings
from ops.bench.delivery import measures
from ops.bench.delivery.sink import Sink


def main() -> None:
    """Run everything and print it."""
    options = argparse.ArgumentParser()
    options.add_argument("--events", type=int, default=30_000)
    options.add_argument("--rate", type=float, default=200.0)
    options.add_argument("--seconds", type=float, default=10.0)
    asked = options.parse_args()
    directory = Path(tempfile.mkdtemp(prefix="leadwire-bench-"))
    directory.chmod(0o711)
    chosen = Settings(data_dir=directory)
    try:
        with services(chosen) as running:
            os.environ |= {
                "LEADWIRE_DATA_DIR": str(directory),
                "LEADWIRE_DATABASE_URL": running.database_url,
                "LEADWIRE_REDIS_URL": running.redis_url,
                "LEADWIRE_ALLOWED_NETWORKS": "127.0.0.0/8",
            }
            settings.get.cache_clear()
            uvloop.run(run(asked.events, asked.rate, asked.seconds))
    finally:
        shutil.rmtree(directory, ignore_errors=True)


async def run(events: int, rate: float, seconds: float) -> None:
    """The four measures, each on empty tables."""
    chosen = settings.get()
    await db.open_pool(chosen.database_url, 10)
    redis_pool.connect(chosen.redis_url)
    await migrate()
    machine = f"{platform.machine()}, {os.cpu_count()} cores, Python {platform.python_version()}"
    print(f"{machine}, load {os.getloadavg()[0]:.1f} at the start")
    relayed = await measures.relay(chosen)
    print(f"relay    {relayed.rate:8.0f} events/s      {relayed.cpu:6.1f} us CPU per event   (bar: >= 10,000/s)")
    async with Sink() as sink:
        bare_httpx = await measures.bare_httpx(sink.url, 3000)
        bare = await measures.bare_pyreqwest(sink.url, 20_000)
        drained = await measures.drain(sink, events)
    print(f"drain    {drained.rate:8.0f} deliveries/s  {drained.cpu:6.1f} us worker CPU per delivery   (bar: <= 90)")
    print(f"bare     httpx.AsyncClient {bare_httpx:6.1f} us CPU per POST   pyreqwest alone {bare:6.1f} us")
    print(f"ratio    worker / httpx.AsyncClient {drained.cpu / bare_httpx:.2f}   / pyreqwest {drained.cpu / bare:.2f}")
    start = time.perf_counter()
    lags = await measures.latency(rate, seconds)
    achieved = len(lags) / (time.perf_counter() - start)
    cuts = statistics.quantiles(lags, n=100)
    print(
        f"latency  {rate:.0f}/s asked, {achieved:.0f}/s done, {len(lags)} events: p50 {cuts[49] * 1e3:.1f} ms, "
        f"p99 {cuts[98] * 1e3:.1f} ms, max {max(lags) * 1e3:.1f} ms   (bar at 200/s: 15 and 60)"
    )
    await redis_pool.close()
    await db.close_pool()


if __name__ == "__main__":
    main()
