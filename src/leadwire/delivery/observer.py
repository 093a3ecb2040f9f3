"""Of all relays one keeps an eye on the servers, every 5 s, and shows what it sees as gauges.

Who that is, is a lease in Redis. Losing it, or two holding it for a moment, or everybody looking while Redis is away
does no harm: queries take the maximum over all processes, and who does not look any more shows nothing.
"""

import asyncio
import contextlib
import logging
import secrets
from typing import Final

from redis.asyncio import Redis

from leadwire.delivery import gauges, invariants, metrics, streams
from leadwire.delivery.relay import partitions
from leadwire.infrastructure import clock, db, ids, telemetry
from leadwire.infrastructure.redis_pool import AWAY
from leadwire.infrastructure.settings import Settings
from leadwire.infrastructure.telemetry.metrics import Gauge

_EVERY: Final = 5.0  # seconds
_PATIENCE: Final = 10.0
_LEASE_MS: Final = 12_000
_THOROUGHLY_EVERY: Final = 60.0
_RECENT: Final = 150.0  # seconds: each event is checked once after the minute in which it settles
_KEY: Final = "leadwire:observer"

IMBALANCE: Final = Gauge(
    "ledger_imbalance",
    "What should not be, by check, among the events of the last minutes; `leadwire ledger` checks all of them.",
    "check",
)
DAYS_AHEAD: Final = Gauge("partitions_ahead", "Days for which the event tables have their partition already.")
DAYS_OVERDUE: Final = Gauge(
    "partitions_overdue", "Days past retention that are kept because something in them is unfinished."
)


class Observer:
    """One process's part in it."""

    def __init__(self, redis: Redis, settings: Settings) -> None:
        self._redis = redis
        self._settings = settings
        self._name = secrets.token_hex(8)
        self._thorough = float("-inf")

    async def run(self, stop: asyncio.Event) -> None:
        """Look, if it is for us to look, until `stop` is set."""
        looking: asyncio.Task[None] | None = None
        while not stop.is_set():
            looking = looking or asyncio.create_task(self.look())
            # Not canceled when it takes too long: that would wait for the same server.
            done, _ = await asyncio.wait([looking], timeout=_PATIENCE)
            error = looking.exception() if done else TimeoutError(f"no answer within {_PATIENCE:g} s")
            if error is not None:
                self._blind(error)
            if done:
                looking = None
            with contextlib.suppress(TimeoutError):
                await asyncio.wait_for(stop.wait(), _EVERY)
        self._show_nothing()

    def _blind(self, error: BaseException) -> None:
        """What was so 5 s ago may not be so now."""
        self._show_nothing()
        if isinstance(error, db.GONE):
            gauges.DATABASE_UP.show(0)
        elif isinstance(error, db.Canceled):  # it answers, too slowly to be looked at
            gauges.DATABASE_UP.show(1)
        metrics.FAILED.cell("observe").add()
        telemetry.log("observer.failed", level=logging.WARNING, error=error)

    async def look(self) -> None:
        """Show everything, or nothing when another process does."""
        if not await self._ours():
            self._show_nothing()
            return
        await gauges.look(self._redis, self._settings.stream_shards)
        now = asyncio.get_running_loop().time()
        if now - self._thorough > _THOROUGHLY_EVERY:
            self._thorough = now
            await self._look_thoroughly()

    async def _look_thoroughly(self) -> None:
        try:
            loads = await streams.loads(self._redis, self._settings.stream_shards)
        except AWAY:
            loads = None
        attempts, since = len(self._settings.retry_schedule) + 1, ids.floor("evt", clock.ago(seconds=_RECENT))
        checks = await invariants.check(loads, attempts, self._settings.reconcile_after, since=since)
        IMBALANCE.show_all({(check.name,): check.broken for check in checks})
        ahead, overdue = await partitions.days(self._settings.retention_days)
        DAYS_AHEAD.show(ahead)
        DAYS_OVERDUE.show(overdue)

    async def _ours(self) -> bool:
        name = self._name.encode()
        try:
            if await self._redis.set(_KEY, name, nx=True, px=_LEASE_MS):
                return True
            if await self._redis.get(_KEY) != name:
                return False
            await self._redis.pexpire(_KEY, _LEASE_MS)
        except AWAY:
            return True
        return True

    def _show_nothing(self) -> None:
        gauges.clear()
        for gauge in (IMBALANCE, DAYS_AHEAD, DAYS_OVERDUE):
            gauge.clear()
        self._thorough = float("-inf")
