"""The full check of the ledger: soon after somebody has asked for it, and once a day."""

from leadwire.delivery.monitoring import ledger
from leadwire.infrastructure import redis_pool, settings
from leadwire.infrastructure.jobs import chore


@chore("ledger", every=60.0, limit=14_400.0)
async def check() -> None:
    """A version that knows no jobs only notes that somebody has asked: each minute that is looked up."""
    await ledger.check_if_due(redis_pool.client(), settings.get())
