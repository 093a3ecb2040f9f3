"""What must always hold (`ledger.sql`): together the checks prove that nothing is missing."""

from collections.abc import Callable
from contextlib import AbstractAsyncContextManager, nullcontext
from typing import Final, NamedTuple

from redis.asyncio import Redis

from leadwire.delivery.relay.reconcile import count_lost
from leadwire.infrastructure.db.statements import load
from leadwire.infrastructure.redis_pool import AWAY
from leadwire.infrastructure.settings import Settings

_SETTLING: Final = 60  # seconds that something may be under way before it counts as stuck
_PASSING: Final = frozenset({"overdue_with_room", "due_and_not_looked_at", "queued_but_lost"})


class Check(NamedTuple):
    """One rule and how often it is broken just now."""

    name: str
    meaning: str
    broken: int

    @property
    def lasting(self) -> bool:
        """Whether it is broken, and no relay mends that: it stays broken, among events that are soon not recent."""
        return self.broken > 0 and self.name not in _PASSING


_CHECKS: Final = load(__file__)


async def check(
    redis: Redis | None, settings: Settings, *, since: str = "",
    apart: Callable[[], AbstractAsyncContextManager[None]] = nullcontext,
) -> tuple[list[Check], bool]:  # fmt: skip
    """Check the deliveries of events with ids from `since` on, each `apart`. Return the checks, and whether Redis could
    be asked.
    """
    checks, values = [], {"since": since, "attempts": len(settings.retry_schedule) + 1}
    for name, count in _CHECKS.items():
        async with apart():
            broken = await count.value(**{value: values[value] for value in count.names})
            checks.append(Check(name, count.about, broken))
    if redis is None:
        return checks, False
    try:
        async with apart():
            lost = await count_lost(redis, settings.stream_shards, settings.reconcile_after + _SETTLING)
    except AWAY:
        return checks, False
    checks.append(Check("queued_but_lost", "deliveries queued although no stream holds them any more", lost))
    return checks, True
