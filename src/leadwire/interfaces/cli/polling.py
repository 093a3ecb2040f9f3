"""Waiting for an attempt to be recorded."""

import asyncio
from typing import Final

from leadwire.domain.webhooks import reads
from leadwire.domain.webhooks.schema import Attempt

_POLL: Final = 0.05  # seconds


async def first_attempt(event_id: str, endpoint_id: str, seconds: float = 35.0) -> Attempt | None:
    """The first attempt of a delivery, or None when there is none after `seconds`."""
    loop = asyncio.get_running_loop()
    end = loop.time() + seconds
    while loop.time() < end:
        for delivery in await reads.deliveries_of(None, event_id, endpoint_id, awaited=True):
            if delivery.history:
                return delivery.history[0]
        await asyncio.sleep(_POLL)
    return None
