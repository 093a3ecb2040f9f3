"""The whole instance at a glance, for those who operate it: every workspace's events together."""

from leadwire.delivery import invariants, status, streams
from leadwire.delivery.invariants import Check
from leadwire.delivery.status import Status
from leadwire.delivery.streams import Load
from leadwire.infrastructure import redis_pool, settings


async def now(*, finished: bool = False) -> Status:
    """Streams, lag, workers, what is overdue; with `finished`, also how many deliveries are done, which may be many."""
    return await status.read(redis_pool.client(), settings.get().stream_shards, finished=finished)


async def ledger() -> tuple[list[Check], bool]:
    """What must always hold, and whether Redis was there to be asked. Reads every delivery: it takes its time."""
    chosen = settings.get()
    loads = await _loads(chosen.stream_shards)
    checks = await invariants.check(loads, attempts=len(chosen.retry_schedule) + 1, slack=chosen.reconcile_after)
    return checks, loads is not None


async def _loads(shards: int) -> list[Load] | None:
    if (client := redis_pool.client()) is None:
        return None
    try:
        return await streams.loads(client, shards)
    except redis_pool.AWAY:
        return None
