"""Wake the relays after a commit, at most once per 5 ms and process.

Losing a message costs nothing but time: the relay polls anyway. It is a PUBLISH, never a NOTIFY in the changing
transaction, which would take a database-wide lock at every commit.
"""

import asyncio
from typing import Final

from leadwire.infrastructure import redis_pool

CHANNEL: Final = "leadwire:wake"
_EVERY: Final = 0.005  # seconds

_last = 0.0
_scheduled = False


def wake_relay() -> None:
    """Wake the relays soon. Does nothing in a process without Redis or outside an event loop."""
    global _scheduled  # noqa: PLW0603 - one rate limit a process
    if _scheduled or redis_pool.client() is None:
        return
    loop = asyncio.get_running_loop()
    _scheduled = True
    loop.call_later(max(0.0, _last + _EVERY - loop.time()), _send)


def _send() -> None:
    global _last, _scheduled
    _last, _scheduled = asyncio.get_running_loop().time(), False
    redis_pool.run_in_background(_publish())


async def _publish() -> None:
    if (client := redis_pool.client()) is None:
        return
    try:
        await client.publish(CHANNEL, b"")
    except redis_pool.AWAY:
        return  # the poll is the backstop
