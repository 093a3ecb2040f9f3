"""Visitors who keep talking while `up` runs, so that there is something to see."""

import asyncio
import logging
import random

from leadwire import telemetry
from leadwire.demo.play import play
from leadwire.demo.script import visit
from leadwire.demo.seed import bots_of


async def talk(workspace: str, stop: asyncio.Event, every: float = 4.0) -> None:
    """A new visit about every `every` seconds until `stop`; each takes its time."""
    chance = random.Random()  # noqa: S311 - chit-chat
    bots = await bots_of(workspace)
    under_way: set[asyncio.Task[None]] = set()
    while not stop.is_set():
        number = chance.randrange(1_000, 10**9)
        task = asyncio.create_task(_one(workspace, bots, chance, number))
        under_way.add(task)
        task.add_done_callback(under_way.discard)
        try:
            await asyncio.wait_for(stop.wait(), every * chance.uniform(0.5, 1.5))
        except TimeoutError:
            continue
    for task in under_way:
        task.cancel()


async def _one(workspace: str, bots: list[str], chance: random.Random, number: int) -> None:
    async def pace() -> None:
        await asyncio.sleep(chance.uniform(0.3, 1.5))

    try:
        await play(workspace, bots, visit(chance, number, lead_share=0.8), pace)
    except Exception as error:  # noqa: BLE001 - the database may be away for a moment; the next visitor comes soon
        telemetry.log("visit.failed", level=logging.WARNING, error=error)
