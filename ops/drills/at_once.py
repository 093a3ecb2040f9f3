"""The primaries of Redis and of PostgreSQL, a relay and a worker are killed, one right after the other."""

import asyncio
import functools

from ops.drills.postgres_failover import ENDPOINTS, RUNBOOK, database_url
from ops.drills.redis_topologies import topology
from ops.drills.sandbox import Sandbox

__all__ = ["ENDPOINTS", "RUNBOOK", "SETTINGS", "database_url", "redis", "run"]

SETTINGS = {"DELIVERY_TIMEOUT": "5", "LEASE": "12", "RECONCILE_AFTER": "3"}
redis = functools.partial(topology, "sentinel")


async def run(sandbox: Sandbox) -> None:
    """Promote the standby; Sentinel and the supervisor do the rest."""
    await sandbox.servers.add_standby()
    sending = asyncio.create_task(sandbox.send_changes(1000, 50))
    await asyncio.sleep(3)
    killing = [asyncio.create_task(one.kill(1)) for one in (sandbox.relays[0], sandbox.workers[0])]
    killing.append(asyncio.create_task(asyncio.to_thread(sandbox.redis.take_away)))
    await sandbox.servers.lose_primary()
    sandbox.say("a relay, a worker, and both primaries are dead")
    await sandbox.servers.promote()
    sandbox.say("the standby is promoted")
    await asyncio.gather(*killing)
    sandbox.say("Redis has another primary, the relay and the worker run again")
    accepted = await sending
    await sandbox.settled()
    sandbox.claim(f"none of {len(accepted)} is missing", sandbox.missing(accepted, "shop") == 0)
    sandbox.say(f"{sandbox.receiver.doubled()} came twice")
    sandbox.claim("no other process ended", not any(process.fell for process in sandbox.processes))
    await sandbox.balanced()
