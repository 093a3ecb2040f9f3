"""`python -m ops.bench.old_snapshot`: what a transaction that somebody else holds open costs each delivery.

A dump, a report, a standby with feedback and an abandoned slot hold one. What is deleted meanwhile stays in the tables
and their indexes, and a queue that is read from its beginning reads it again and again. Events are recorded and
delivered a turn at a time, by the functions of relay and worker, with a snapshot held and without; a turn's pages are
what PostgreSQL counts for this database. Nothing is vacuumed meanwhile. POSTs are not made. Jobs of a kind that does
nothing are added and done in the same way. Looks at whole queues come with the clock, every 5 seconds: they are left
out, as the slower a machine is, the more of them there are for each delivery.
"""

import argparse
import asyncio
import math
import os
import shutil
import tempfile
import time
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Final

import asyncpg
from redis.asyncio import Redis

from leadwire.delivery import retry, streams
from leadwire.delivery.outbox import Event
from leadwire.delivery.relay import queue_front
from leadwire.delivery.relay.loop import Relay
from leadwire.delivery.worker.attempt import Attempt, ClaimedDelivery
from leadwire.delivery.worker.claim import claim
from leadwire.delivery.worker.record import record
from leadwire.domain.accounts import changes as accounts
from leadwire.domain.accounts import reads as accounts_reads
from leadwire.domain.webhooks import changes as webhooks
from leadwire.domain.webhooks.samples import SAMPLES
from leadwire.domain.webhooks.schema import EndpointChange
from leadwire.infrastructure import clock, db, ids, redis_pool
from leadwire.infrastructure.db.migrations import migrate
from leadwire.infrastructure.jobs import Offer, queue, runner
from leadwire.infrastructure.jobs.kinds import Kind
from leadwire.infrastructure.jobs.queue import Claimed
from leadwire.infrastructure.settings import Settings
from leadwire_development.embedded import services

KINDS: Final[Mapping[str, tuple[int, EndpointChange | None]]] = {
    "plain": (1, None),
    "ordered": (1, EndpointChange(ordered=True)),
    "rated": (1, EndpointChange(rate_limit=60_000)),
    "relayed": (17, None),
}
"""Of endpoints: how many of them want each event, and their settings."""
_JOBS: Final = "jobs"
MOST: Final = 2.0
"""Times the pages of the control."""
_TURN: Final = 20  # events, each about a lead of its own
_TABLES: Final = "delivery, outbox, webhook_endpoint, job"


def main() -> None:
    parser = argparse.ArgumentParser(prog="python -m ops.bench.old_snapshot", description=__doc__)
    parser.add_argument("--deliveries", type=int, default=5000)
    parser.add_argument("--windows", type=int, default=5)
    parser.add_argument("--kinds", nargs="+", choices=[*KINDS, _JOBS], default=[*KINDS, _JOBS])
    options = parser.parse_args()
    place = Path(tempfile.mkdtemp(prefix="leadwire-bench-"))
    place.chmod(0o711)
    os.environ |= {"LEADWIRE_DATA_DIR": str(place), "LEADWIRE_NEW_HOST_RATE": "0", "LEADWIRE_MAX_HOST_ENDPOINTS": "100"}
    try:
        with services(Settings(data_dir=place), durable=False) as up:
            os.environ |= {"LEADWIRE_DATABASE_URL": up.database_url, "LEADWIRE_REDIS_URL": up.redis_url}
            worst = asyncio.run(_compare(up.database_url, up.redis_url, options))
    finally:
        shutil.rmtree(place, ignore_errors=True)
    raise SystemExit(worst > MOST)


async def _compare(database_url: str, redis_url: str, options: argparse.Namespace) -> float:
    await db.open_pool(database_url, 1, role="engine", indexes_only=True)
    redis_pool.connect(redis_url)
    vars(queue_front)["_EVERY"] = vars(runner)["_FULL_LOOK_EVERY"] = math.inf
    try:
        await migrate()
        print(f"pages read for each of {options.deliveries} deliveries, in {options.windows} windows")
        worst = 0.0
        for kind in options.kinds:
            last = []
            for url in (None, database_url):
                pages = await windows(kind, options.deliveries // options.windows, options.windows, url)
                print(f"{kind:8} {'snapshot' if url else 'control':8}", *(f"{figure:7.0f}" for figure in pages))
                last.append(pages[-1])
            worst = max(worst, last[1] / last[0])
        print(f"in the last window x{worst:.1f} at most; allowed: x{MOST:g}")
        return worst
    finally:
        await redis_pool.close()
        await db.close_pool()


async def windows(kind: str, deliveries: int, count: int, held_at: str | None) -> list[float]:
    """Return the pages read for each delivery in windows of so many deliveries to endpoints of a kind.

    From the end of the first window on, a snapshot of the database at `held_at` is held. The pool has one connection.
    """
    workspace = await accounts.create_workspace(kind)
    number = await make_endpoints(workspace, kind) if kind in KINDS else 1
    for table in _TABLES.split(", "):
        await db.rows(f"ALTER TABLE {table} SET (autovacuum_enabled = off)")
    await db.rows(f"VACUUM (ANALYZE) {_TABLES}")
    redis = redis_pool.require_client()
    delivering = Delivering(redis, workspace, number) if kind in KINDS else _Jobs(workspace)
    await delivering.prepare()
    holder = await asyncpg.connect(held_at) if held_at else None
    figures = []
    try:
        for window in range(count):
            before = await _pages()
            for _ in range(max(1, deliveries // number // _TURN)):
                await delivering.turn()
            figures.append((await _pages() - before) / delivering.take_count())
            if holder and not window:
                await holder.execute("BEGIN ISOLATION LEVEL REPEATABLE READ; SELECT count(*) FROM workspace")
    finally:
        if holder:
            await holder.close()
    return figures


async def make_endpoints(workspace: str, kind: str) -> int:
    """Return how many there are of the kind."""
    number, change = KINDS[kind]
    for _ in range(number):
        endpoint = await webhooks.create(workspace, "https://example.com/hook", ["lead.updated"])
        if change:
            await webhooks.configure(workspace, endpoint.id, change)
        await webhooks.enable(workspace, endpoint.id)
    return number


async def _pages() -> int:
    await db.rows("SELECT pg_stat_force_next_flush()")  # of the only connection
    return int(
        await db.value("SELECT sum(blks_hit + blks_read) FROM pg_stat_database WHERE datname = current_database()")
    )


class Delivering:
    """A relay and a worker, by hand."""

    def __init__(self, redis: Redis, workspace: str, endpoints: int) -> None:
        self._redis, self._workspace, self._endpoints = redis, workspace, endpoints
        self._settings = Settings()
        self._relay = Relay(redis, self._settings)
        self._leads = [ids.new("lead") for _ in range(_TURN)]
        self._count = 0

    async def prepare(self) -> None:
        """Empty the streams, and open the endpoints."""
        await self._redis.flushall()
        await streams.prepare(self._redis, self._settings.stream_shards)
        await self._relay.admit()

    def take_count(self) -> int:
        """How many deliveries there were since the last call."""
        count, self._count = self._count, 0
        return count

    async def turn(self) -> None:
        """Record an event about each lead, and deliver them."""
        for lead in self._leads:
            async with db.transaction():
                await Event(
                    workspace=self._workspace, kind="lead.updated", at=clock.now(), data=SAMPLES["lead.updated"],
                    lead_id=lead,
                ).record()  # fmt: skip
        open_ = _TURN * self._endpoints
        while open_:
            await self._relay.fan_out()
            await self._relay.admit()
            if entries := await streams.read(self._redis, "bench", self._settings.stream_shards, 1000, None):
                jobs = (await claim(entries, "bench", self._settings.lease)).jobs
                await record([self._delivered(job) for job in jobs], "bench")
                await streams.done(self._redis, entries)
                open_ -= len(jobs)
                self._count += len(jobs)

    def _delivered(self, job: ClaimedDelivery) -> Attempt:
        now = time.perf_counter()
        following = retry.after("delivered", job.number, self._settings.retry_schedule, test=False)
        return Attempt(job, clock.now(), now, now, "delivered", following)


class _Jobs:
    """A background process, by hand."""

    def __init__(self, workspace: str) -> None:
        kind = Kind(_JOBS, self._run, batch=_TURN, at_once=1, limit=60.0, tries=1, every=None)
        self._workspace, self._runner, self._count = (
            workspace,
            runner.Runner(accounts_reads.suspended, {_JOBS: kind}),
            0,
        )

    async def prepare(self) -> None:
        """Nothing is kept from before."""

    def take_count(self) -> int:
        """How many jobs there were since the last call."""
        count, self._count = self._count, 0
        return count

    async def turn(self) -> None:
        """Add jobs, and do them."""
        await queue.add_all(_JOBS, [Offer(ids.new("job"), self._workspace) for _ in range(_TURN)])
        await self._runner.run_all()

    async def _run(self, jobs: Sequence[Claimed]) -> None:
        self._count += len(jobs)


if __name__ == "__main__":
    main()
