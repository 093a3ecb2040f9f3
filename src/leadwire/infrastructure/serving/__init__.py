"""What every process has in common: connections, a listening socket, a signal to stop."""

import asyncio
import os
import signal
import socket
import sys
from collections.abc import AsyncIterator, Iterator
from contextlib import asynccontextmanager, contextmanager
from typing import Any, Final

import uvicorn

from leadwire.infrastructure import db, redis_pool
from leadwire.infrastructure.errors import OperatorError
from leadwire.infrastructure.serving.connection import http_protocol
from leadwire.infrastructure.settings import Settings

SUPERVISED: Final = "LEADWIRE_SUPERVISED"
"""Set by `up`: the end of standard input then means that `up` has ended, and the process stops too."""


class _Server(uvicorn.Server):
    """uvicorn without its signal handlers, which send the signal to the process again after a clean stop."""

    @contextmanager
    def capture_signals(self) -> Iterator[None]:
        """Ours are installed already."""
        yield


async def serve_until(
    stop: asyncio.Event, app: Any, listening: socket.socket, *, limits: Settings | None = None, grace: int = 1
) -> None:
    """Serve an ASGI application on a bound socket until `stop` is set, then finish requests for `grace` seconds.

    `limits` are the settings that say what callers may hold of it; without them there is no limit.
    """
    config = uvicorn.Config(
        app,
        http=http_protocol(limits) if limits else "httptools",
        ws="none",
        log_config=None,
        access_log=False,
        lifespan="off",
        proxy_headers=False,  # nobody is believed about the caller's address
        server_header=False,
        timeout_graceful_shutdown=grace,
    )
    server = _Server(config)
    serving = asyncio.create_task(server.serve(sockets=[listening]))
    stopping = asyncio.create_task(stop.wait())
    await asyncio.wait([serving, stopping], return_when=asyncio.FIRST_COMPLETED)
    stopping.cancel()
    server.should_exit = True
    await serving


@asynccontextmanager
async def connections(database_url: str, redis_url: str, pool_size: int, **options: Any) -> AsyncIterator[None]:
    """The database pool (`options` as for `db.open_pool`) and the Redis client, open inside the block.

    Raise OperatorError for an invalid address.
    """
    try:
        await db.open_pool(database_url, pool_size, **options)
    except ValueError as error:
        raise OperatorError(f"LEADWIRE_DATABASE_URL cannot be used: {error}") from error
    redis_pool.connect(redis_url)
    try:
        yield
    finally:
        await redis_pool.close()
        await db.close_pool()


def bind(host: str, port: int) -> socket.socket:
    """Return a listening socket. Raise OperatorError when the port is in use or not permitted.

    Not `socket.create_server`: its sockets have protocol 0, so asyncio leaves TCP_NODELAY off, which costs 40 ms on
    every keep-alive request.
    """
    try:
        found = socket.getaddrinfo(host, port, type=socket.SOCK_STREAM, flags=socket.AI_PASSIVE)
        family, kind, _, _, address = found[0]
        listening = socket.socket(family, kind, socket.IPPROTO_TCP)
        listening.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
        listening.bind(address)
        listening.listen(2048)
        listening.setblocking(False)
    except (OSError, OverflowError) as error:
        reason = error.strerror if isinstance(error, OSError) and error.strerror else str(error)
        raise OperatorError(f"cannot listen on {host}:{port}: {reason}") from error
    return listening


def stop_event() -> asyncio.Event:
    """Return an event that SIGTERM, SIGINT or the end of the supervisor sets."""
    stop = asyncio.Event()
    loop = asyncio.get_running_loop()
    for number in (signal.SIGTERM, signal.SIGINT):
        loop.add_signal_handler(number, stop.set)

    def read_stdin() -> None:
        if not os.read(sys.stdin.fileno(), 64):
            loop.remove_reader(sys.stdin.fileno())
            stop.set()

    if os.environ.get(SUPERVISED):
        loop.add_reader(sys.stdin.fileno(), read_stdin)
    return stop
