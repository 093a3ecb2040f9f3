"""Writes documents soon after something has changed. Any number of processes may do so at once."""

import asyncio
import time
from typing import Final

from leadwire.delivery.relay.loop import Loop
from leadwire.domain.search import changes

_EVERY: Final = 1.0  # seconds, when nothing has changed


async def run(stop: asyncio.Event) -> None:
    """Write until `stop` is set. It rests as long as it works: nobody waits for it, and others use the database."""

    async def look() -> float:
        began = time.monotonic()
        return time.monotonic() - began if await changes.write() else _EVERY

    await Loop("search", look).run(stop)
