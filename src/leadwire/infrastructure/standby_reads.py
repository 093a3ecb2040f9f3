"""Which requests read from a standby, so that whoever has changed something sees it.

After a change by a session or an API key, the end of the primary's log is noted for it, in Redis, where every process
sees it; its reads go to the standby once that has replayed so much. Redis rather than a cookie or a header: an API key
has no cookie, and a header would ask every client to send it back. Without Redis, reads go to the primary.
"""

import asyncio
import contextlib
import logging
from collections.abc import AsyncIterator
from typing import Final

from leadwire.infrastructure import db, redis_pool, telemetry
from leadwire.infrastructure.db import DB
from leadwire.infrastructure.errors import OperatorError
from leadwire.infrastructure.settings import Settings
from leadwire.infrastructure.telemetry.metrics import Gauge, counter

CALLER: Final = "leadwire.caller"
"""In the state of a request: the id of its session or API key."""

_LOOK_EVERY: Final = 1.0  # seconds
_PATIENCE: Final = 1.0  # seconds for Redis
_KEPT: Final = 60  # seconds beyond the lag that is accepted
_ERRORS: Final[tuple[type[BaseException], ...]] = (*redis_pool.AWAY, *db.GONE, db.Canceled)
_CHOSEN: Final = counter(
    "replica_requests",
    "Lists, exports and pages by what they were read from: `standby`; `primary`, because the caller has changed"
    " something that the standby lacks; `unused`, the primary because the standby cannot be used.",
    "read_from",
    values=("standby", "primary", "unused"),
)
_FAILED: Final = counter("replica_failures", "Statements that failed on the standby and were run on the primary.")
Gauge(
    "replica_lag_seconds",
    "Seconds that the standby is behind the primary, or up to a second more.",
    read=lambda: {(): DB.standby.lag} if DB.standby else {},
)


@contextlib.asynccontextmanager
async def following(settings: Settings) -> AsyncIterator[None]:
    """Use the standby that the settings name, if any, inside the block. Raise OperatorError for an invalid address."""
    if not settings.replica_url:
        yield
        return
    try:
        await db.open_standby(settings.replica_url, settings.pool_size, settings.replica_lag)
    except ValueError as error:
        raise OperatorError(f"LEADWIRE_REPLICA_URL cannot be used: {error}") from error
    looking = asyncio.create_task(_look())
    try:
        yield
    finally:
        looking.cancel()
        await db.close_standby()


async def note_change(caller: str | None) -> None:
    """Note that a session or an API key, if any, has changed something, before it is told so."""
    standby = DB.standby
    if standby is None or caller is None:
        return
    try:
        async with asyncio.timeout(_PATIENCE):
            position = await standby.position()
            await redis_pool.require_client().set(_key(caller), position, ex=int(standby.most_lag) + _KEPT)
    except _ERRORS as error:
        telemetry.log("replica.change_not_noted", level=logging.WARNING, error=error)


async def choose(caller: str) -> None:
    """Let the rest of a request read from the standby, if it can be used and has the last change of the caller."""
    standby = DB.standby
    if standby is None:
        return
    if standby.unused_because:
        _CHOSEN.labels("unused").inc()
    elif await _has_all(standby, caller):
        _CHOSEN.labels("standby").inc()
        db.read_from_standby()
    else:
        _CHOSEN.labels("primary").inc()


async def _has_all(standby: db.Standby, caller: str) -> bool:
    try:
        async with asyncio.timeout(_PATIENCE):
            noted = await redis_pool.require_client().get(_key(caller))
    except _ERRORS:
        return False
    return noted is None or await standby.has(int(noted))


async def _look() -> None:
    """Look at the standby again and again. Log when it is no longer used, and when it is again."""
    said: str | None = None
    counted = 0
    while (standby := DB.standby) is not None:
        _FAILED.inc(standby.failures - counted)
        counted = standby.failures
        if bool(standby.unused_because) != bool(said) or said is None:
            said = standby.unused_because
            level = logging.WARNING if said else logging.INFO
            telemetry.log("replica.unused" if said else "replica.used", level=level, reason=said)
        await asyncio.sleep(_LOOK_EVERY)
        with contextlib.suppress(ValueError):
            await standby.look()


def _key(caller: str) -> str:
    return f"leadwire:changed:{caller}"
