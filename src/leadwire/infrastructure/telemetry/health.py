"""Is this process alive, and may requests be sent to it?

Not alive means that only a restart helps: a loop has stopped, or work does not progress. A server that is unavailable
is no reason for that, as every loop keeps trying. Not ready names what is missing. Where a process works without Redis,
its absence is `degraded`, and still ready.
"""

import asyncio
from collections.abc import Awaitable, Callable, Mapping
from typing import Final, Literal

import msgspec

from leadwire.infrastructure import db, redis_pool

Check = Callable[[], Awaitable[str | None]]
"""Returns what is wrong, or None."""

_LIMIT: Final = 1.0  # seconds for each check


Status = Literal["ok", "degraded", "unready"]


class Report(msgspec.Struct):
    """`checks` says of each what is wrong, or `ok`."""

    status: Status
    checks: dict[str, str]

    @property
    def ready(self) -> bool:
        """Whether work may be sent here."""
        return self.status != "unready"


class Health:
    """Of one process. `needs_redis`: it has nothing to do without. `checks` are further conditions of being ready."""

    def __init__(self, *, needs_redis: bool, checks: Mapping[str, Check] | None = None) -> None:
        self._needs_redis = needs_redis
        self._checks = {"database": _database, **(checks or {}), "redis": _redis}
        self._running: dict[str, asyncio.Future[str | None]] = {}
        self.stuck: Callable[[], str | None] = lambda: None
        """Returns why this process is not alive, or None."""
        self.stopping: Callable[[], bool] = lambda: False
        """Whether it is stopping."""

    async def report(self) -> Report:
        """Whether it is ready, and what of it is not."""
        found = await asyncio.gather(*(self._ask(name) for name in self._checks))
        wrong = {name: said for name, said in zip(self._checks, found, strict=True) if said}
        if self.stopping():
            wrong["process"] = "stopping"
        status: Status = "unready" if wrong else "ok"
        if wrong.keys() == {"redis"} and not self._needs_redis:
            status = "degraded"
        return Report(status, dict.fromkeys(self._checks, "ok") | wrong)

    async def _ask(self, name: str) -> str | None:
        """What a check says. One that takes too long goes on, so that probes do not pile up on a server that hangs."""
        running = self._running.get(name)
        if running is None:
            running = self._running[name] = asyncio.ensure_future(self._checks[name]())
        done, _ = await asyncio.wait([running], timeout=_LIMIT)
        if not done:
            return f"no answer within {_LIMIT:g} s"
        self._running.pop(name, None)
        error = running.exception()
        return type(error).__name__ if error else running.result()


async def _database() -> str | None:
    await db.value("SELECT 1")
    return None


async def _redis() -> str | None:
    client = redis_pool.client()
    if client is None:
        return "not connected"
    await client.delete("leadwire:health")  # a write of nothing: a replica answers PING as well
    return None
