"""What every process that serves has in common: connections to the servers, and HTTP on a bound socket."""

import asyncio
import socket
from collections.abc import AsyncIterator, Callable, Iterator
from contextlib import asynccontextmanager, contextmanager
from typing import Any, Final

import uvicorn

from leadwire.infrastructure import db, redis_pool
from leadwire.infrastructure.errors import OperatorError
from leadwire.infrastructure.serving.connection import http_protocol
from leadwire.infrastructure.settings import Settings

IDLE: Final = 20  # seconds that a connection waits for its next request; httpx closes one after 5, Go's client retries
IDLE_BEHIND_PROXY: Final = 75  # the proxy has to be who closes: HAProxy does after 65, nginx and AWS's after 60


class _Server(uvicorn.Server):
    """uvicorn without its signal handlers, which send the signal to the process again after a clean stop."""

    @contextmanager
    def capture_signals(self) -> Iterator[None]:
        """Ours are installed already."""
        yield


async def serve_until(
    stop: asyncio.Event,
    app: Any,
    listening: socket.socket,
    *,
    limits: Settings | None = None,
    grace: int = 1,
    leaving: Callable[[], bool] = lambda: False,
    denied: Callable[[str], None] = lambda _: None,
) -> None:
    """Serve an ASGI application on a bound socket until `stop` is set, then finish requests for `grace` seconds.

    `limits` are the settings that say what callers may hold of it; without them there is no limit. While `leaving`,
    each answer closes its connection, so that a proxy sends nothing on one that is about to end. `denied` is told of
    each connection that is one too many, of the `process` or of its `address`.
    """
    config = uvicorn.Config(
        app,
        http=http_protocol(limits, leaving, denied) if limits else "httptools",
        ws="none",
        log_config=None,
        access_log=False,
        lifespan="off",
        proxy_headers=False,  # nobody is believed about the caller's address
        server_header=False,
        timeout_keep_alive=IDLE_BEHIND_PROXY if limits and limits.trusted_proxies else IDLE,
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
