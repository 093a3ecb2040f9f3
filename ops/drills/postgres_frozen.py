"""The primary freezes, so that nothing is answered and nothing is closed, and its standby is promoted."""

from ops.drills import postgres_failover
from ops.drills.postgres_failover import ENDPOINTS, RUNBOOK, SETTINGS, database_url
from ops.drills.sandbox import Sandbox

__all__ = ["ENDPOINTS", "RUNBOOK", "SETTINGS", "database_url", "run"]


async def run(sandbox: Sandbox) -> None:
    """Promote the standby at once."""
    await postgres_failover.run(sandbox, frozen=True)
