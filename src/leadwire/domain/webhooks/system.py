"""The whole instance, for those who operate it: every workspace's events together."""

from typing import Final

from leadwire.delivery import epochs
from leadwire.delivery.epochs import Began
from leadwire.delivery.monitoring import invariants, status
from leadwire.delivery.monitoring import ledger as kept
from leadwire.delivery.monitoring.invariants import Check
from leadwire.delivery.monitoring.status import Status
from leadwire.infrastructure import redis_pool, settings

last_check: Final = kept.last
ask_for_check: Final = kept.ask
begun: Final = epochs.begun


async def now(*, finished: bool = False) -> Status:
    """Return streams, lag, workers, what is overdue; with `finished`, also how many deliveries are done."""
    return await status.read(redis_pool.client(), settings.get().stream_shards, finished=finished)


async def ledger() -> tuple[list[Check], bool, list[Began]]:
    """Check what must always hold. Reads every delivery.

    Return the checks, whether Redis could be asked, and when the database became another server, the latest first.
    """
    return *await invariants.check(redis_pool.client(), settings.get()), await begun()
