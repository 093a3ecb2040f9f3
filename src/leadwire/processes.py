"""What runs in each process, and how it stops: SIGTERM or SIGINT, then what is in hand is finished, then exit 0."""

import asyncio
import os
import signal
import socket
import sys
from collections.abc import Awaitable, Callable, Iterator
from contextlib import AsyncExitStack, contextmanager
from typing import Final

import uvicorn

from leadwire import redis_pool, telemetry
from leadwire.app import connections, create_app
from leadwire.errors import OperatorError
from leadwire.settings import Settings
from leadwire.wire import keyring
from leadwire.wire.deliver.loop import Deliverer
from leadwire.wire.relay.loop import Relay
from leadwire.wire.transport.guarded import GuardedTransport

SUPERVISED: Final = "LEADWIRE_SUPERVISED"
"""Set by `up`: the end of standard input then means that `up` is gone, and the process stops too."""

_DRAIN: Final = 10  # seconds for requests under way when the API stops


class _Server(uvicorn.Server):
    """uvicorn without its signal handlers: it would kill the process by the signal again after a clean stop."""

    @contextmanager
    def capture_signals(self) -> Iterator[None]:
        """Ours are installed already."""
        yield


async def serve(settings: Settings, listening: socket.socket) -> None:
    """The HTTP API on a bound socket."""
    config = uvicorn.Config(
        create_app(),  # type: ignore[arg-type]
        http="httptools",
        log_config=None,
        access_log=False,
        lifespan="off",
        server_header=False,
        timeout_graceful_shutdown=_DRAIN,
    )
    await _run(settings, "serve", lambda stop: serve_until(stop, config, listening))


async def serve_until(stop: asyncio.Event, config: uvicorn.Config, listening: socket.socket) -> None:
    """Serve on a bound socket until `stop` is set."""
    server = _Server(config)
    serving = asyncio.create_task(server.serve(sockets=[listening]))
    stopping = asyncio.create_task(stop.wait())
    await asyncio.wait([serving, stopping], return_when=asyncio.FIRST_COMPLETED)
    stopping.cancel()
    server.should_exit = True
    await serving


async def relay(settings: Settings) -> None:
    """Hop 1."""

    async def run(stop: asyncio.Event) -> None:
        redis = redis_pool.client()
        assert redis is not None  # noqa: S101 - opened by _run
        await Relay(redis, settings).run(stop)

    await _run(settings, "relay", run)


async def deliver(settings: Settings) -> None:
    """Hop 3."""
    keyring.get()  # a wrong key is told at the start, not at the first delivery

    async def run(stop: asyncio.Event) -> None:
        redis = redis_pool.client()
        assert redis is not None  # noqa: S101 - opened by _run
        transport = GuardedTransport(settings.allowed_networks, timeout=settings.delivery_timeout)
        try:
            await Deliverer(redis, transport, settings).run(stop)
        finally:
            await transport.aclose()

    await _run(settings, "deliver", run)


def bind(host: str, port: int) -> socket.socket:
    """A listening socket. Raises OperatorError when the port is taken or not ours to take.

    Not `socket.create_server`: its sockets have protocol 0, so asyncio leaves TCP_NODELAY off, which costs 40 ms on
    every keep-alive request.
    """
    try:
        family, kind, _, _, address = socket.getaddrinfo(host, port, type=socket.SOCK_STREAM, flags=socket.AI_PASSIVE)[
            0
        ]
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
    """Set by SIGTERM, SIGINT, or the end of the supervisor."""
    stop = asyncio.Event()
    loop = asyncio.get_running_loop()
    for number in (signal.SIGTERM, signal.SIGINT):
        loop.add_signal_handler(number, stop.set)
    if os.environ.get(SUPERVISED):
        loop.add_reader(sys.stdin.fileno(), lambda: None if os.read(sys.stdin.fileno(), 64) else _gone(loop, stop))
    return stop


def _gone(loop: asyncio.AbstractEventLoop, stop: asyncio.Event) -> None:
    loop.remove_reader(sys.stdin.fileno())
    stop.set()


async def _run(settings: Settings, name: str, work: Callable[[asyncio.Event], Awaitable[None]]) -> None:
    stop = stop_event()
    async with AsyncExitStack() as stack:
        await stack.enter_async_context(connections(settings.database_url, settings.redis_url, settings.pool_size))
        telemetry.log("process.started", name=name)
        await work(stop)
        telemetry.log("process.stopped", name=name)
