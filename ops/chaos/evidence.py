"""Waits until all is delivered, and reads what the database has of it."""

import asyncio
import contextlib
import json
import time
from collections.abc import Mapping, Sequence
from typing import Final

from leadwire.domain.webhooks import redrives
from leadwire.domain.webhooks.redrives import Selection
from leadwire.infrastructure import db, settings
from ops.chaos import ledger
from ops.chaos.cluster import Deployment
from ops.chaos.load import Workload
from ops.chaos.records import Accepted, Fault, Post
from ops.chaos.verdict import Evidence

_STILL: Final = 3.0  # seconds without progress


async def evidence(
    workload: Workload,
    endpoints: Mapping[str, str],
    accepted: Sequence[Accepted],
    faults: Sequence[Fault],
    posts: Sequence[Post],
    **known: int,
) -> Evidence:
    """Read what the database has of a customer. `endpoints`: ids by name. `posts` may be those of others, too."""
    names = {row: name for name, row in endpoints.items()}
    return Evidence(
        accepted=accepted,
        events=await ledger.events(workload.workspace),
        posts=[post for post in posts if post.endpoint in endpoints],
        faults=faults,
        endpoints=list(endpoints),
        states=await ledger.states(workload.workspace),
        deliveries=await ledger.deliveries(workload.workspace),
        attempts=await ledger.attempts(names),
        ends=await ledger.ends(names),
        schedule=settings.get().retry_schedule,
        ledger={},
        timeout=settings.get().delivery_timeout,
        **known,
    )


async def balanced(deployment: Deployment) -> dict[str, int]:
    """Return the checks of the ledger, each with how often it is broken."""
    _, output = await deployment.command("ledger", "--json")
    return {check["name"]: check["broken"] for check in json.loads(output)["checks"]}


async def wait_until_settled(deployment: Deployment, workspaces: Sequence[str], settle: float) -> tuple[int, int]:
    """Wait until all is delivered. Return what is left when the time is up, and how many dead letters were redriven:
    a delivery that failed four times is not lost, an operator sends it again, as what was set aside.
    """
    start, left, redriven = time.monotonic(), -1, 0
    moved = start
    while time.monotonic() - start < settle:
        with contextlib.suppress(*db.GONE):
            before, left = left, await ledger.unfinished(*workspaces)
            moved = moved if left == before else time.monotonic()
            if left and time.monotonic() - moved > _STILL:
                await deployment.command("set-aside", "release")
                moved = time.monotonic()
            dead = [one for one in workspaces if (await ledger.deliveries(one)).get("dead")] if not left else []
            for workspace in dead:
                redriven += (await redrives.start(workspace, Selection(), redrives.FASTEST)).total
            if not left and not dead:
                break
        await asyncio.sleep(0.25)
    if fell := {process.name: process.fell for process in deployment.processes if process.fell}:
        print(f"  ended by themselves and were started again: {fell}")
    print(f"  all delivered {time.monotonic() - start:.1f} s after the last change", flush=True)
    return left, redriven
