"""What systemd is told of this process, where it asks: that it is ready, and again and again that its loop turns.

The protocol is a datagram to a socket that is named in the environment (sd_notify(3)); elsewhere nothing happens.
"""

import asyncio
import os
import socket
from collections.abc import AsyncIterator, Callable
from contextlib import asynccontextmanager, suppress


@asynccontextmanager
async def notified(alive: Callable[[], bool] = lambda: True) -> AsyncIterator[None]:
    """Ready from here on, and alive for the length of the block: for as long as `alive` says so, if a watchdog asks.

    A loop that hangs tells nothing, so the watchdog ends this process and starts another.
    """
    _tell("READY=1")
    watched = asyncio.create_task(_send_watchdog(alive))
    try:
        yield
    finally:
        watched.cancel()


async def _send_watchdog(alive: Callable[[], bool]) -> None:
    interval = int(os.environ.get("WATCHDOG_USEC") or 0) / 1e6
    if os.environ.get("WATCHDOG_PID", str(os.getpid())) != str(os.getpid()):
        return  # meant for another process
    while interval:
        if alive():
            _tell("WATCHDOG=1")
        await asyncio.sleep(interval / 3)


def _tell(state: str) -> None:
    if address := os.environ.get("NOTIFY_SOCKET"):
        if address.startswith("@"):  # not a file, but a name
            address = "\0" + address[1:]
        with suppress(OSError), socket.socket(socket.AF_UNIX, socket.SOCK_DGRAM) as sending:
            sending.sendto(state.encode(), address)
