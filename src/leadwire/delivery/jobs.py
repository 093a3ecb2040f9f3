"""What is done for deliveries beside their way: redrives of many, discards, the full check of the ledger. The relay
sends what they let wait.
"""

from typing import Final

from leadwire.delivery import auto_redrive, metrics, redrive_job
from leadwire.delivery.endpoints import discard
from leadwire.delivery.monitoring import full_check
from leadwire.infrastructure import redis_pool, settings, telemetry
from leadwire.infrastructure.jobs import Again, Claimed, chore, job

_EVERY: Final = 0.2  # seconds between the steps of a redrive
_IDLE: Final = 1.0  # seconds, where its rate allows nothing yet


@job("redrive", at_once=4)
async def take_on(job: Claimed) -> Again | None:
    """Let some of the deliveries of a redrive wait again, by its rate."""
    moved, ended = await redrive_job.step(job.key, job.tries)
    if moved:
        metrics.REDRIVEN.inc(moved)
        telemetry.log("batch.redriven", deliveries=moved)
    return None if ended else Again(_EVERY if moved else _IDLE)


@job("auto_redrive", at_once=2, find=auto_redrive.failed)
async def send_again(job: Claimed) -> Again | None:
    """Try one dead letter of an endpoint now and then, and begin a redrive of all once it answers."""
    return await auto_redrive.step(job.key, job.place)


@job("discard", at_once=2)
async def cancel(job: Claimed) -> Again | None:
    """Cancel a batch of what waits for an endpoint that was removed or is to be emptied."""
    canceled = await discard.step(job.key)
    if canceled:
        telemetry.log("batch.discarded", deliveries=canceled)
    return Again() if canceled else None


@chore("ledger", every=60.0, limit=14_400.0)
async def check() -> None:
    """Check the whole ledger once a day and soon after somebody has asked: each minute it is looked up whether that is
    due, as a version that knows no jobs only notes that somebody has asked.
    """
    await full_check.check_if_due(redis_pool.client(), settings.get())
