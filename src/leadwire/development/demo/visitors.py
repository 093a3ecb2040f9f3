"""Visitors who keep talking while `up` runs, so that there is something to see."""

import asyncio
import logging
import random

import httpx

from leadwire.development.demo.guest import Guest, attend
from leadwire.development.demo.script import visit
from leadwire.development.demo.seed import bots_of
from leadwire.infrastructure import telemetry


async def talk(workspace: str, url: str, stop: asyncio.Event, every: float = 4.0) -> None:
    """A new visit to the widget at `url` about every `every` seconds until `stop`; each takes its time."""
    chance = random.Random()  # noqa: S311 - chit-chat
    bots = await bots_of(workspace)
    under_way: set[asyncio.Task[None]] = set()
    async with httpx.AsyncClient(base_url=url, trust_env=False, timeout=15) as client:
        while not stop.is_set():
            task = asyncio.create_task(_one(client, workspace, bots, chance))
            under_way.add(task)
            task.add_done_callback(under_way.discard)
            try:
                await asyncio.wait_for(stop.wait(), every * chance.uniform(0.5, 1.5))
            except TimeoutError:
                continue
        for task in under_way:
            task.cancel()


async def _one(client: httpx.AsyncClient, workspace: str, bots: list[str], chance: random.Random) -> None:
    async def pace() -> None:
        await asyncio.sleep(chance.uniform(0.3, 1.5))

    planned = visit(chance, chance.randrange(1_000, 10**9), lead_share=0.8)
    try:
        waits = await Guest(client, bots[planned.bot % len(bots)], planned, chance).talk(pace)
        if waits:
            await attend(workspace, waits, chance.uniform(20, 60))
    except Exception as error:  # noqa: BLE001 - a server may be away for a moment; the next visitor comes soon
        telemetry.log("visit.failed", level=logging.WARNING, error=error)
