"""Is this process alive, and may work be sent to it? Looked at, never written to.

Not alive means that only a restart helps: a loop that does not turn, work that does not move. A server that is away is
no reason for that; every loop goes on trying. Not ready names what is missing. Redis is not missed where the process
does its work without it: that is `degraded`, and still ready.
"""

import asyncio
from collections.abc import Awaitable, Callable, Mapping
from typing import Final, Literal

import msgspec

from leadwire import db, redis_pool

Check = Callable[[], Awaitable[str | None]]
"""Answers what is wrong, or None."""

_LIMIT: Final = 1.0  # seconds for each check


class Report(msgspec.Struct):
    """`checks` says of each what is wrong, or `ok`."""

    status: Literal["ok", "degraded", "unready"]
    checks: dict[str, str]

    @property
    def ready(self) -> bool:
        """Whether work may be sent here."""
        return self.status != "unready"


class Health:
    """Of one process. `needs_redis`: it has nothing to do without. `checks` are further conditions of being ready."""

    def __init__(self, *, needs_redis: bool, checks: Mapping[str, Check] | None = None) -> None:
        self._needs_redis = needs_redis
        self._checks = {"database": _database, **(checks or {})}
        self.stuck: Callable[[], str | None] = lambda: None
        """Says why this process is not alive, or None."""
        self.stopping: Callable[[], bool] = lambda: False
        """Whether it has been told to stop."""

    async def report(self) -> Report:
        """Whether it is ready, and what of it is not."""
        names = [*self._checks, "redis"]
        found = await asyncio.gather(*(_within(check) for check in (*self._checks.values(), _redis)))
        wrong = {name: said for name, said in zip(names, found, strict=True) if said}
        if self.stopping():
            wrong["process"] = "stopping"
        minor = set() if self._needs_redis else {"redis"}
        status: Literal["ok", "degraded", "unready"] = "ok"
        if wrong:
            status = "degraded" if set(wrong) <= minor else "unready"
        return Report(status, dict.fromkeys(names, "ok") | wrong)


async def _within(check: Check) -> str | None:
    try:
        async with asyncio.timeout(_LIMIT):
            return await check()
    except TimeoutError:
        return f"no answer within {_LIMIT:g} s"
    except Exception as error:  # noqa: BLE001 - whatever it is, it is not ready
        return f"{type(error).__name__}"


async def _database() -> str | None:
    await db.value("SELECT 1")
    return None


async def _redis() -> str | None:
    client = redis_pool.client()
    if client is None:
        return "not connected"
    await client.ping()
    return None
