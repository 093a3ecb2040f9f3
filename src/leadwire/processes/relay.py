"""The relay process: hop 1, the end of silent conversations, and an eye on the servers."""

import asyncio

from leadwire import redis_pool
from leadwire.bots import silence
from leadwire.migrate import missing
from leadwire.processes import running
from leadwire.settings import Settings
from leadwire.telemetry.health import Health
from leadwire.wire.observer import Observer
from leadwire.wire.relay.loop import Relay


async def relay(settings: Settings) -> None:
    """Outbox to streams."""
    health = Health(needs_redis=True, checks={"migrations": missing})

    async def run(stop: asyncio.Event) -> None:
        redis = redis_pool.opened()
        relaying = Relay(redis, settings)
        health.stuck = relaying.stuck
        async with asyncio.TaskGroup() as group:
            for work in (relaying.run(stop), silence.watch(stop), Observer(redis, settings).run(stop)):
                group.create_task(work)

    await running.run(settings, "relay", health, run)
