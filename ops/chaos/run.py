"""One run: start the cluster, send changes while faults are injected, wait until all is delivered, judge the result."""

import asyncio
import contextlib
import json
import logging
import time
from collections.abc import Awaitable, Callable, Mapping, Sequence
from pathlib import Path
from typing import Final, NamedTuple

from leadwire.development.embedded import Services
from leadwire.infrastructure import db, settings
from leadwire.infrastructure.db.migrations import migrate
from ops.chaos import ledger, load
from ops.chaos.cluster import Cluster, Deployment
from ops.chaos.faults import PlannedFault, inject
from ops.chaos.journal import Journal, free_port
from ops.chaos.proxy import LossyProxy
from ops.chaos.records import ORDERED, Fault
from ops.chaos.verdict import Evidence, Scorecard, judge

ENDPOINTS: Final = ("healthy", "slow", "flaky", ORDERED)

SHORT: Final = {
    "LEADWIRE_DELIVERY_TIMEOUT": "2",
    "LEADWIRE_LEASE": "5",
    "LEADWIRE_RETRY_SCHEDULE": "1,2,4",
    "LEADWIRE_RECONCILE_AFTER": "5",
}
"""Settings with which a run ends soon."""


class RunOptions(NamedTuple):
    """The options of a run. `settle` is the limit, in seconds, for everything to be delivered after the last change."""

    events: int
    seconds: float
    seed: int
    settle: float
    plan: Sequence[PlannedFault]


async def run(running: Services, environment: Mapping[str, str], directory: Path, options: RunOptions) -> Scorecard:
    """Run everything on servers that are up. Return the scorecard."""
    chosen = settings.get()
    print(
        f"{options.events} changes in {options.seconds:g} s, {len(options.plan)} faults, seed {options.seed}\n"
        f"  lease {chosen.lease:g} s, delivery timeout {chosen.delivery_timeout:g} s, retries after "
        f"{', '.join(map(str, chosen.retry_schedule))} s, lost in Redis after {chosen.reconcile_after:g} s",
        flush=True,
    )
    logging.getLogger("asyncpg").addHandler(logging.NullHandler())  # the database goes away: we know
    await db.open_pool(running.database_url, 4)
    await migrate()
    journal = Journal(directory / "journal.jsonl")
    workload = await load.create_data({name: journal.url(name) for name in ENDPOINTS}, options.events)
    journal.start(workload.secrets)
    try:
        async with (
            LossyProxy(running.redis_url) as proxy,
            Cluster(running, environment, directory, free_port(), proxy) as cluster,
        ):
            return judge(
                await observe(cluster, workload, journal, options, lambda: inject(cluster, options.plan, chosen.lease))
            )
    finally:
        journal.stop()
        await db.close_pool()


async def observe(
    deployment: Deployment,
    workload: load.Workload,
    journal: Journal,
    options: RunOptions,
    injecting: Callable[[], Awaitable[Sequence[Fault]]],
) -> Evidence:
    """Send changes while faults are injected, wait until all is delivered, and return what was seen."""
    share = load.changes(workload, options.events, options.seed)
    sending = asyncio.create_task(load.send_changes(workload, deployment.url, share, options.events / options.seconds))
    try:
        happened = await injecting()
        accepted = await sending
    finally:
        sending.cancel()
    left, redriven = await _wait_until_settled(deployment, workload.workspace, options.settle)
    if fell := {process.name: process.fell for process in deployment.processes if process.fell}:
        print(f"  ended by themselves and were started again: {fell}")
    _, output = await deployment.command("ledger", "--json")
    return Evidence(
        accepted=accepted,
        events=await ledger.events(workload.workspace),
        posts=journal.posts(),
        faults=happened,
        endpoints=list(workload.secrets),
        states=await ledger.states(workload.workspace),
        deliveries=await ledger.deliveries(workload.workspace),
        unfinished=left,
        redriven=redriven,
        ledger={check["name"]: check["broken"] for check in json.loads(output)["checks"]},
        timeout=settings.get().delivery_timeout,
    )


async def _wait_until_settled(deployment: Deployment, workspace: str, settle: float) -> tuple[int, int]:
    """Wait until all is delivered. Return what is left when the time is up, and how many dead letters were redriven:
    a delivery that failed four times is not lost, an operator sends it again.
    """
    start, left, redriven = time.monotonic(), -1, 0
    while time.monotonic() - start < settle:
        with contextlib.suppress(*db.GONE):
            left = await ledger.unfinished(workspace)
            if not left:
                if not (await ledger.deliveries(workspace)).get("dead"):
                    break
                _, output = await deployment.command("redrives", "start", "--rate", "1000", "--watch", "--json")
                redriven += json.loads(output)["done"]
        await asyncio.sleep(0.25)
    print(f"  all delivered {time.monotonic() - start:.1f} s after the last change", flush=True)
    return left, redriven
