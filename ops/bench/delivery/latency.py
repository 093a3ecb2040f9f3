"""From the commit of a real change to the receiver having the request."""

import asyncio
import time

from leadwire.domain.accounts import changes as accounts
from leadwire.domain.bots import changes as bots
from leadwire.domain.conversations import changes as conversations
from leadwire.domain.conversations.schema import Origin
from leadwire.domain.webhooks import changes as webhooks
from leadwire.infrastructure import db
from ops.bench.delivery import world
from ops.bench.delivery.process import Process
from ops.bench.delivery.sink import Sink


async def latency(rate: float, seconds: float) -> list[float]:
    """Seconds from each commit to its arrival, at a steady rate of real changes."""
    await world.fresh()
    async with Sink() as sink, Process("relay"), Process("deliver"):
        workspace = await accounts.create_workspace("bench")
        bot = await bots.create(workspace, "bench")
        endpoint = await webhooks.create(workspace, sink.url(), ["message.sent"])
        await webhooks.enable(workspace, endpoint.id)
        talks = [
            await conversations.start(workspace, bot, Origin()) for _ in range(max(50, int(rate * seconds) // 900))
        ]
        committed: dict[str, float] = {}

        async def change(number: int) -> None:
            message = await conversations.add_message(workspace, talks[number % len(talks)], "bot", f"line {number}")
            committed[message.id] = time.monotonic()

        for number in range(100):  # both processes are up when these have arrived
            await change(number)
        while await sink.count() < len(committed):
            await asyncio.sleep(0.05)
        await sink.seen()
        committed.clear()
        tasks, start = [], time.perf_counter()
        for number in range(int(rate * seconds)):
            await asyncio.sleep(max(0.0, start + number / rate - time.perf_counter()))
            tasks.append(asyncio.create_task(change(number)))
        await asyncio.gather(*tasks)
        arrived: dict[str, float] = {}
        while len(arrived) < len(committed):
            arrived |= await sink.seen()
            await asyncio.sleep(0.1)
        rows = await db.rows("SELECT id, body FROM event WHERE kind = 'message.sent'")
    message_of = {row["id"]: row["body"].split('"data":{"id":"')[1].split('"')[0] for row in rows}
    return [at - committed[message_of[event]] for event, at in arrived.items() if message_of[event] in committed]
