"""The Redis client of this process. Redis may be lost at any time: it makes things quick, never correct."""

import asyncio
import contextvars
from collections.abc import Coroutine
from typing import Any, Final

import redis.asyncio as redis
from redis.asyncio.connection import AbstractConnection
from redis.asyncio.retry import Retry
from redis.backoff import NoBackoff
from redis.exceptions import ReadOnlyError, RedisError

from leadwire.infrastructure.errors import OperatorError

AWAY = (RedisError, OSError)
"""What is raised when Redis is unavailable or refuses. Callers wait and try again."""

_PATIENCE: Final = 2.0  # seconds for background tasks when the client is closed

_client: "redis.Redis | None" = None
_background_tasks: set[asyncio.Task[None]] = set()  # the loop keeps only weak references to tasks


class NotPrimary(redis.ConnectionError):
    """The server has become a replica, which takes no writes."""


class _ToPrimary(AbstractConnection):
    """After a switch-over the address may mean another server, but connections to the old primary stay open. When one
    of them is refused a write, all are dropped, subscriptions too: each looks the address up again.
    """

    pool: redis.ConnectionPool

    async def read_response(self, *args: Any, **options: Any) -> Any:
        try:
            return await super().read_response(*args, **options)
        except ReadOnlyError as error:
            await self.pool.disconnect()
            raise NotPrimary(str(error)) from error


def connect(url: str) -> None:
    """Make the client of this process. Raise OperatorError for an address that is not one of a Redis."""
    global _client  # noqa: PLW0603 - one pool a process, as for the database
    _client = create_client(url)


def create_client(url: str) -> "redis.Redis":
    """A client; it connects at the first command. Errors are not retried here: the callers' loops do that.

    Raise OperatorError for an address that is not one of a Redis.
    """
    try:
        client = redis.Redis.from_url(
            url, socket_connect_timeout=3, socket_timeout=10, retry=Retry(NoBackoff(), 0), health_check_interval=0
        )
    except ValueError as error:
        raise OperatorError(f"LEADWIRE_REDIS_URL cannot be used: {error}") from error
    pool = client.connection_pool
    pool.connection_class = type("ToPrimary", (_ToPrimary, pool.connection_class), {"pool": pool})
    return client


def client() -> "redis.Redis | None":
    """The client, or None in a process that has none."""
    return _client


def require_client() -> "redis.Redis":
    """The client of a process that has one: after `connect`, before `close`."""
    assert _client is not None, "Redis is not connected"  # noqa: S101 - a programming error
    return _client


async def check_writes(client: "redis.Redis") -> None:
    """Write something for a second. Raise one of `AWAY` where that is refused: by a replica, or for lack of memory."""
    await client.set("leadwire:health", "", px=1000)


def run_in_background(work: Coroutine[Any, Any, None]) -> None:
    """Run a short task outside the caller's context, which may hold a transaction. `close` waits for it."""
    task = asyncio.get_running_loop().create_task(work, context=contextvars.Context())
    _background_tasks.add(task)
    task.add_done_callback(_background_tasks.discard)


async def close() -> None:
    """Wait for background tasks, then close every connection. Safe when there is none."""
    global _client
    if _client is not None:
        client, _client = _client, None
        if _background_tasks:
            await asyncio.wait(_background_tasks, timeout=_PATIENCE)
        await client.aclose()
