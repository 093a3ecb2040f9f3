"""The relay process: relays events and observes the servers."""

import asyncio

from leadwire.delivery.monitoring.observer import Observer
from leadwire.delivery.relay.loop import Relay
from leadwire.delivery.streams import installation
from leadwire.infrastructure import redis_pool
from leadwire.infrastructure.db.migrations import missing
from leadwire.infrastructure.settings import Settings
from leadwire.infrastructure.telemetry.health import Health
from leadwire.processes import runtime


async def relay(settings: Settings) -> None:
    health = Health(needs_redis=True, checks={"migrations": missing, "installation": installation.alone})

    async def run(stop: asyncio.Event) -> None:
        redis = redis_pool.require_client()
        async with asyncio.TaskGroup() as group:
            group.create_task(Relay(redis, settings).run(stop))
            group.create_task(Observer(redis, settings).run(stop))

    await runtime.run(settings, "relay", health, run)
