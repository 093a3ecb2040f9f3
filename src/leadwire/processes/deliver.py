"""The worker process: streams to receivers."""

import asyncio

from leadwire.delivery.endpoints import table as endpoints
from leadwire.delivery.streams import installation
from leadwire.delivery.transport.guarded import GuardedTransport
from leadwire.delivery.worker import hourly_stats
from leadwire.delivery.worker.loop import Deliverer
from leadwire.infrastructure import loop, redis_pool
from leadwire.infrastructure.db.migrations import missing
from leadwire.infrastructure.settings import Settings
from leadwire.infrastructure.telemetry.health import Health
from leadwire.processes import runtime


async def deliver(settings: Settings) -> None:
    health = Health(needs_redis=True, checks={"migrations": missing, "installation": installation.alone})

    async def run(stop: asyncio.Event) -> None:
        transport = GuardedTransport(
            settings.allowed_networks, timeout=settings.delivery_timeout, proxy=settings.egress_proxy
        )
        try:
            worker = Deliverer(redis_pool.require_client(), transport, settings)
            health.stuck = lambda: worker.stuck() or loop.stuck()
            await worker.run(stop)
        finally:
            await hourly_stats.flush()
            await transport.aclose()

    # A wrong key is told now, not at a delivery.
    await runtime.run(settings, "deliver", health, run, check=endpoints.check_secret)
