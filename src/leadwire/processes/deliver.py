"""A worker's process: hop 3."""

import asyncio

from leadwire import redis_pool
from leadwire.migrate import missing
from leadwire.processes import running
from leadwire.settings import Settings
from leadwire.telemetry.health import Health
from leadwire.wire import keyring
from leadwire.wire.deliver import tally
from leadwire.wire.deliver.loop import Deliverer
from leadwire.wire.transport.guarded import GuardedTransport


async def deliver(settings: Settings) -> None:
    """Streams to receivers."""
    health = Health(needs_redis=True, checks={"migrations": missing})

    async def run(stop: asyncio.Event) -> None:
        transport = GuardedTransport(settings.allowed_networks, timeout=settings.delivery_timeout)
        try:
            worker = Deliverer(redis_pool.opened(), transport, settings)
            health.stuck = worker.stuck
            await worker.run(stop)
        finally:
            await tally.flush()
            await transport.aclose()

    await running.run(
        settings, "deliver", health, run, check=keyring.check
    )  # a wrong key is told now, not at a delivery
