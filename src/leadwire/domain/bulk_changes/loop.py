"""Makes changes of many leads, some at a time. Any number of processes may do so at once."""

import asyncio
import time
from typing import Final

from leadwire.delivery.relay.loop import Loop
from leadwire.domain.bulk_changes import changes

_EVERY: Final = 1.0  # seconds, when there is none


async def run(stop: asyncio.Event) -> None:
    """Work until `stop` is set. It rests as long as it works: visitors and the API come first."""

    async def look() -> float:
        began = time.monotonic()
        return time.monotonic() - began if await changes.step() else _EVERY

    await Loop("bulk", look).run(stop)
