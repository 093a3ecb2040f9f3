"""One of all relays looks the gauges up in the servers, every 5 s: the one that has a lease in Redis.

To lose it, or to look without it while Redis is away, does no harm: alerts take the maximum over all processes, and a
process that stops looking clears its gauges.
"""

import asyncio
import contextlib
import functools
import secrets
from collections.abc import AsyncIterator, Sequence
from datetime import datetime, timedelta
from typing import Final

from redis.asyncio import Redis

from leadwire.delivery import epochs, metrics
from leadwire.delivery.monitoring import conditions, full_check, gauges, ledger, reach, status
from leadwire.delivery.monitoring.ledger import Check
from leadwire.delivery.relay import partitions
from leadwire.delivery.streams import installation
from leadwire.infrastructure import clock, db, ids, telemetry
from leadwire.infrastructure.db.migrations import difference
from leadwire.infrastructure.jobs import metrics as jobs
from leadwire.infrastructure.loop import Loop
from leadwire.infrastructure.redis_pool import AWAY
from leadwire.infrastructure.settings import Settings
from leadwire.infrastructure.telemetry.metrics import Gauge, LookedUp, Values, clear

_EVERY: Final = 5.0  # seconds
_TIMEOUT: Final = 10.0
_LEASE_MS: Final = 12_000
_CHECK_EVERY: Final = 60.0
_RECENT: Final = 150.0  # seconds: each event is checked once after the minute in which it settles
_SHOWN: Final = timedelta(seconds=600)  # what such a check has found is shown, or nobody would be called
_KEY: Final = "leadwire:observer"

IMBALANCE: Final = LookedUp(
    "ledger_imbalance",
    "Violations found by each check of the ledger among recent events; `leadwire ledger` checks all events.",
    "check",
)
REMAINING: Final = LookedUp(
    "ledger_imbalance_remaining",
    "Violations that the last check of all events found, once a day or when asked for; without what a relay mends.",
    "check",
)
DAYS_AHEAD: Final = LookedUp("partitions_ahead", "Days ahead for which the event tables have partitions.")
SERVER_AGE: Final = LookedUp(
    "server_changed_seconds",
    "Time since the database became another server (failover, restore or upgrade); absent where it never did.",
)
DAYS_OVERDUE: Final = LookedUp("partitions_overdue", "Days past retention that the relay has not dropped yet.")
MISSING: Final = Gauge("migrations_missing", "Migrations of this relay's version that the database lacks.")
SHARING: Final = Gauge("installations_sharing", "Other installations that use the same Redis.")


@contextlib.asynccontextmanager
async def _patient() -> AsyncIterator[None]:
    """Leave out the block, or the rest of it, where Redis does not answer soon: the database is looked up anyway."""
    with contextlib.suppress(*AWAY):
        async with asyncio.timeout(status.PATIENCE):
            yield


class Observer:
    def __init__(self, redis: Redis, settings: Settings) -> None:
        self._redis = redis
        self._settings = settings
        self._name = secrets.token_hex(8)
        self._checked = float("-inf")
        self._found: dict[str, tuple[datetime, int]] = {}  # what lasts: when, and how much

    async def run(self, stop: asyncio.Event) -> None:
        """Update the gauges, as long as this process has the lease, until `stop` is set."""
        await Loop("observe", functools.partial(self._round, stop)).run(stop)
        self._clear()
        await installation.leave(self._redis)

    async def _round(self, stop: asyncio.Event) -> float:
        """Update once. Not canceled when it takes too long, as that would wait for the same server."""
        update = asyncio.create_task(self.update())
        while not (await asyncio.wait([update], timeout=_TIMEOUT))[0] and not stop.is_set():
            await self._failed(TimeoutError(f"no answer within {_TIMEOUT:g} s"))
        if update.done() and (error := update.exception()) is not None:
            await self._failed(error)
        return _EVERY

    async def _failed(self, error: BaseException) -> None:
        """Clear the gauges: what they show may not be so any more. Note that the database does not answer."""
        self._clear()
        if isinstance(error, db.GONE):
            gauges.DATABASE_UP.show(0)
            for gauge in (MISSING, SHARING):
                gauge.show_all({})
        elif isinstance(error, db.Canceled):  # it answers, but too slowly
            gauges.DATABASE_UP.show(1)
        metrics.FAILED.labels("observe").inc()
        telemetry.warn("observer.failed", error=error)
        async with _patient():  # another that has the lease may see what this one does not
            if await self._redis.get(_KEY) in {None, self._name.encode()}:
                await conditions.note(self._redis)

    async def update(self) -> None:
        """Set every gauge, or clear them when another process has the lease.

        What each relay looks up comes first, and stays when the rest fails: missing migrations may be why it does.
        """
        MISSING.show(len((await difference())[0]))
        sharing: Values = {}
        async with _patient():
            sharing = {(): await installation.note(self._redis)}
        SHARING.show_all(sharing)
        if not await self._has_lease():
            self._clear()
            return
        await gauges.update(self._redis, self._settings.stream_shards, self._settings.lease)
        await jobs.update()
        now = asyncio.get_running_loop().time()
        if now - self._checked > _CHECK_EVERY:
            self._checked = now
            await self._check()
        async with _patient():
            await conditions.note(self._redis)

    async def _check(self) -> None:
        await reach.update()
        since = ids.floor("evt", clock.ago(seconds=_RECENT))
        redis = self._redis if gauges.REDIS_UP.values().get(()) else None
        checks, _ = await ledger.check(redis, self._settings, since=since)
        IMBALANCE.show_all(self._shown(checks))
        if (last := await full_check.last()).result:
            REMAINING.show_all({(check.name,): check.broken for check in last.result.checks if check.lasting})
        if begun := await epochs.begun():
            SERVER_AGE.show((clock.now() - begun[0].started_at).total_seconds())
        ahead, overdue = await partitions.days(self._settings.retention_days)
        DAYS_AHEAD.show(ahead)
        DAYS_OVERDUE.show(overdue)

    def _shown(self, checks: Sequence[Check]) -> Values:
        """What each check has found, or lately had: an event is recent for too short a time to call somebody."""
        now = clock.now()
        self._found |= {check.name: (now, check.broken) for check in checks if check.lasting}
        lately = {name: broken for name, (at, broken) in self._found.items() if now - at < _SHOWN}
        return {(check.name,): check.broken or lately.get(check.name, 0) for check in checks}

    async def _has_lease(self) -> bool:
        name = self._name.encode()
        async with _patient():
            if not await self._redis.set(_KEY, name, nx=True, px=_LEASE_MS):
                if await self._redis.get(_KEY) != name:
                    return False
                await self._redis.pexpire(_KEY, _LEASE_MS)
        return True

    def _clear(self) -> None:
        clear()
        self._checked = float("-inf")
