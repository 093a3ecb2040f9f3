"""The whole instance, for those who operate it: every workspace's events together."""

from leadwire.delivery.monitoring import invariants, status
from leadwire.delivery.monitoring.invariants import Check
from leadwire.delivery.monitoring.status import Status
from leadwire.infrastructure import redis_pool, settings


async def now(*, finished: bool = False) -> Status:
    """Return streams, lag, workers, what is overdue; with `finished`, also how many deliveries are done."""
    return await status.read(redis_pool.client(), settings.get().stream_shards, finished=finished)


async def ledger() -> tuple[list[Check], bool]:
    """Check what must always hold. Return the checks, and whether Redis could be asked. Reads every delivery."""
    return await invariants.check(redis_pool.client(), settings.get())
