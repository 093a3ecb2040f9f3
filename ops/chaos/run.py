"""One run: set the stage, push and break at once, wait until all is quiet, gather the evidence."""

import asyncio
import contextlib
import json
import logging
import time
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import NamedTuple

from leadwire.development.embedded import Services
from leadwire.infrastructure import db, settings
from leadwire.infrastructure.db.migrations import migrate
from ops.chaos import ledger, load
from ops.chaos.faults import Planned, rage
from ops.chaos.journal import Journal, free_port
from ops.chaos.records import ORDERED, Accepted, Fault
from ops.chaos.stage import Stage
from ops.chaos.verdict import Evidence, Scorecard, judge

_ENDPOINTS = ("healthy", "slow", "flaky", ORDERED)


class Order(NamedTuple):
    """What is asked for: `settle` is how many seconds it may take until all is quiet."""

    events: int
    seconds: float
    seed: int
    settle: float
    plan: Sequence[Planned]


async def run(running: Services, environment: Mapping[str, str], directory: Path, order: Order) -> Scorecard:
    """Everything, on servers that run."""
    chosen = settings.get()
    print(
        f"{order.events} changes in {order.seconds:g} s, {len(order.plan)} faults, seed {order.seed}\n"
        f"  lease {chosen.lease:g} s, delivery timeout {chosen.delivery_timeout:g} s, retries after "
        f"{', '.join(map(str, chosen.retry_schedule))} s, lost in Redis after {chosen.reconcile_after:g} s",
        flush=True,
    )
    logging.getLogger("asyncpg").addHandler(logging.NullHandler())  # the database goes away: we know
    await db.open_pool(running.database_url, 4)
    await migrate()
    journal = Journal(directory / "journal.jsonl")
    world = await load.furnish({name: journal.url(name) for name in _ENDPOINTS}, order.events)
    journal.start(world.secrets)
    try:
        async with Stage(running, environment, directory, free_port()) as stage:
            share = load.changes(world, order.events, order.seed)
            pushing = asyncio.create_task(load.push(world, stage.url, share, order.events / order.seconds))
            try:
                happened = await rage(stage, order.plan, chosen.lease)
                accepted = await pushing
            finally:
                pushing.cancel()
            left, redriven = await _quiet(stage, world.workspace, order.settle)
            fell = {part.name: part.fell for part in stage.parts if part.fell}
            if fell:
                print(f"  ended by themselves and were started again: {fell}")
            return judge(await _evidence(stage, world.workspace, journal, accepted, happened, left, redriven))
    finally:
        journal.stop()
        await db.close_pool()


async def _quiet(stage: Stage, workspace: str, settle: float) -> tuple[int, int]:
    """Wait until nothing is owed. Answers what still is when the time is up, and how many dead letters were redriven:
    a delivery that failed four times is not lost, an operator sends it again.
    """
    start, left, redriven = time.monotonic(), -1, 0
    while time.monotonic() - start < settle:
        with contextlib.suppress(*db.GONE):
            left = await ledger.unfinished(workspace)
            if not left:
                if not (await ledger.deliveries(workspace)).get("dead"):
                    break
                _, told = await stage.command("redrives", "start", "--rate", "1000", "--watch", "--json")
                redriven += json.loads(told)["done"]
        await asyncio.sleep(0.25)
    print(f"  all quiet {time.monotonic() - start:.1f} s after the last change", flush=True)
    return left, redriven


async def _evidence(
    stage: Stage,
    workspace: str,
    journal: Journal,
    accepted: Sequence[Accepted],
    happened: Sequence[Fault],
    left: int,
    redriven: int,
) -> Evidence:
    _, told = await stage.command("ledger", "--json")
    return Evidence(
        accepted=accepted,
        events=await ledger.events(workspace),
        posts=journal.posts(),
        faults=happened,
        endpoints=_ENDPOINTS,
        states=await ledger.states(workspace),
        deliveries=await ledger.deliveries(workspace),
        unfinished=left,
        redriven=redriven,
        ledger={check["name"]: check["broken"] for check in json.loads(told)["checks"]},
        timeout=settings.get().delivery_timeout,
    )
