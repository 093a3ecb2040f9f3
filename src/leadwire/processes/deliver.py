"""A worker's process: hop 3."""

import asyncio
from typing import Final

from leadwire.delivery.ledger import WebhookEndpoint
from leadwire.delivery.transport.guarded import GuardedTransport
from leadwire.delivery.worker import hourly_stats
from leadwire.delivery.worker.loop import Deliverer
from leadwire.infrastructure import redis_pool, secret_box
from leadwire.infrastructure.db.migrations import missing
from leadwire.infrastructure.db.statements import statement
from leadwire.infrastructure.settings import Settings
from leadwire.infrastructure.telemetry.health import Health
from leadwire.processes import runtime

_NEWEST_SECRET: Final = statement(
    WebhookEndpoint.select(WebhookEndpoint.secret).order_by(WebhookEndpoint.created_at, ascending=False).limit(1)
)


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
            await hourly_stats.flush()
            await transport.aclose()

    # A wrong key is told now, not at a delivery.
    await runtime.run(settings, "deliver", health, run, check=_check_secret_key)


async def _check_secret_key() -> None:
    """Raise OperatorError when the newest endpoint's secret was sealed with another key."""
    if sealed := await _NEWEST_SECRET.value():
        secret_box.get().open(sealed)
