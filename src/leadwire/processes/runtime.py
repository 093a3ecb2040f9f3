"""How a process runs and stops: SIGTERM or SIGINT, then work in progress is finished, then exit 0."""

import asyncio
import gc
import os
import resource
import socket
from collections.abc import AsyncIterator, Awaitable, Callable
from contextlib import asynccontextmanager, suppress
from typing import Final

from leadwire.delivery import epochs, feed
from leadwire.delivery.streams import installation
from leadwire.infrastructure import db, loop, telemetry
from leadwire.infrastructure.process import bind, stop_event
from leadwire.infrastructure.serving import connections
from leadwire.infrastructure.settings import Settings
from leadwire.infrastructure.telemetry import tracing
from leadwire.infrastructure.telemetry.health import Health, serve_health

_OPEN_MAX: Final = 10_240  # what macOS takes at most where it says that there is no limit: setrlimit(2)


async def run(
    settings: Settings,
    name: str,
    health: Health,
    work: Callable[[asyncio.Event], Awaitable[None]],
    *,
    check: Callable[[], Awaitable[None]] | None = None,
    role: db.Role = "engine",
    indexes_only: bool = True,
) -> None:
    """Do `work` with the servers connected and telemetry served, until a signal. `check` goes before; if it raises, so
    does this.
    """
    _, hard = resource.getrlimit(resource.RLIMIT_NOFILE)
    most = _OPEN_MAX if hard == resource.RLIM_INFINITY else hard
    resource.setrlimit(resource.RLIMIT_NOFILE, (most, hard))  # a POST that hangs keeps a socket, not a place
    stop, over = stop_event(), asyncio.Event()
    health.stopping, health.stuck = stop.is_set, loop.stuck
    tracing.start(settings.trace_share, name)
    listening = bind(settings.telemetry_host, settings.telemetry_port)
    host, number, *_ = listening.getsockname()
    urls = settings.database_url, settings.redis_url
    async with connections(*urls, settings.pool_size, role=role, indexes_only=indexes_only):
        await installation.check()
        await feed.check_table()  # told now, not by the first round of work
        await epochs.note()
        if check:
            await check()
        watched = asyncio.create_task(serve_health(name, health, listening, over, settings.telemetry_names))
        telemetry.log("process.started", name=name, telemetry=f"http://{host}:{number}")
        gc.collect()
        gc.freeze()  # what is there by now stays: 200,000 objects, which a full collection looks through for 0.1 s
        async with systemd_notified(lambda: health.stuck() is None):
            await work(stop)
        over.set()
        await watched
        await asyncio.to_thread(tracing.stop)
        telemetry.log("process.stopped", name=name)


@asynccontextmanager
async def systemd_notified(alive: Callable[[], bool]) -> AsyncIterator[None]:
    """Tell systemd that this process is ready and, if its watchdog asks, that it is alive as long as `alive` says so.

    A loop that hangs tells nothing, so the watchdog ends this process and starts another. The protocol is a datagram to
    a socket that is named in the environment (sd_notify(3)); elsewhere nothing happens.
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
            _tell("WATCHDOG=1", socket.MSG_DONTWAIT)  # one that is lost does no harm: a loop must not wait for systemd
        await asyncio.sleep(interval / 3)


def _tell(state: str, flags: int = 0) -> None:
    if address := os.environ.get("NOTIFY_SOCKET"):
        if address.startswith("@"):  # not a file, but a name
            address = "\0" + address[1:]
        with suppress(OSError), socket.socket(socket.AF_UNIX, socket.SOCK_DGRAM) as sending:
            sending.sendto(state.encode(), flags, address)
