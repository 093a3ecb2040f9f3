"""Replays beside changes: whatever a replay meets, each delivery is in one place, and each person can be erased.

A replay without an end runs into what is being sent at that moment. Nothing else is broken here.
"""

import asyncio
import contextlib
import json
import time
from collections import Counter
from collections.abc import Mapping
from datetime import timedelta
from pathlib import Path
from typing import Final

import httpx

from leadwire.domain.webhooks import redrives
from leadwire.domain.webhooks.redrives import Selection
from leadwire.infrastructure import clock, db
from leadwire.infrastructure.db.migrations import migrate
from leadwire_development.embedded import Services
from ops.chaos import ledger, load
from ops.chaos.cluster import Cluster
from ops.chaos.journal import Journal, free_port
from ops.chaos.proxy import LossyProxy

_REPLAYS: Final = 17
_EVERY: Final = 2.3  # seconds
_RATE: Final = 100  # changes a second
_SPAN: Final = timedelta(seconds=10)  # what is replayed
_SETTLE: Final = 120.0  # seconds
_ENDPOINT: Final = "healthy"


async def run(running: Services, environment: Mapping[str, str], directory: Path) -> list[str]:
    """Run it on servers that are up. Print what was counted; return what is not as promised."""
    await db.open_pool(running.database_url, 4)
    await migrate()
    journal = Journal(directory / "journal.jsonl")
    count = int(_REPLAYS * _EVERY * _RATE)
    workload = await load.create_data({_ENDPOINT: journal.url(_ENDPOINT)}, count)
    journal.start(workload.secrets)
    try:
        async with (
            LossyProxy(running.redis_url) as proxy,
            Cluster(running, environment, directory, free_port(), proxy) as cluster,
        ):
            share = load.changes(workload, count, 7)
            sending = load.send_changes(workload, cluster.url, share, _RATE)
            accepted, replayed = await asyncio.gather(sending, _replay(workload))
            amid = await erase(workload._replace(leads=workload.leads[::2]), cluster.url)
            left = await _settled(workload.workspace)
            after = await erase(workload._replace(leads=workload.leads[1::2]), cluster.url)
            _, output = await cluster.command("ledger", "--json")
            unrecordable = len(cluster.logged("delivery.unrecordable"))
            aside = len(cluster.logged("delivery.set_aside"))
    finally:
        journal.stop()
        await db.close_pool()
    broken = {check["name"]: check["broken"] for check in json.loads(output)["checks"] if check["broken"]}
    erasures = Counter(amid + after)
    attempts = Counter((post.event_id, post.attempt) for post in journal.posts())
    print(
        f"{len(accepted)} changes, {_REPLAYS} replays of {replayed} events, {attempts.total()} POSTs\n"
        f"unrecordable {unrecordable}, set aside {aside}, unfinished {left}, erasures {dict(erasures)}, "
        f"ledger {broken or 'balanced'}"
    )
    refused = erasures.total() - erasures[200]
    counts = {"unrecordable": unrecordable, "set aside": aside, "unfinished": left, "not erased": refused, **broken}
    return [f"{name} {number}" for name, number in counts.items() if number]


async def _replay(workload: load.Workload) -> int:
    """Start a replay now and then. Return how many events they were to send."""
    total = 0
    for _ in range(_REPLAYS):
        await asyncio.sleep(_EVERY)
        chosen = Selection(endpoint_id=workload.endpoints[_ENDPOINT], replay=True, since=clock.now() - _SPAN)
        total += (await redrives.start(workload.workspace, chosen, redrives.FASTEST)).total
    return total


async def _settled(workspace: str) -> int:
    """Wait until everything is delivered. Return what is left when the time is up."""
    end = time.monotonic() + _SETTLE
    while (left := await ledger.unfinished(workspace)) and time.monotonic() < end:
        await asyncio.sleep(0.25)
    return left


async def erase(workload: load.Workload, url: str) -> list[int]:
    """Erase every lead through the API. Return the status of each answer; 0 for none."""
    headers = {"Authorization": f"Bearer {workload.key}"}
    answers = []
    async with httpx.AsyncClient(base_url=url, headers=headers, timeout=30.0, trust_env=False) as client:
        for lead in workload.leads:
            status = 0
            with contextlib.suppress(httpx.HTTPError):
                status = (await client.delete(f"/v1/leads/{lead}")).status_code
            answers.append(status)
    return answers
