"""What the drills of a Sentinel group and of a cluster have in common."""

import asyncio
import time

from ops.drills.sandbox import Sandbox

RUNBOOK = "src/leadwire/docs/runbooks/redis-down.md"
ENDPOINTS = ("shop",)
SETTINGS = {"RECONCILE_AFTER": "3"}


async def run(sandbox: Sandbox) -> None:
    """Kill it, and wait."""
    sending = asyncio.create_task(sandbox.send_changes(1000, 50))
    await asyncio.sleep(3)
    killed = time.time()
    await asyncio.to_thread(sandbox.redis.take_away)
    sandbox.say(f"the primary was killed; its replica took over after {time.time() - killed:.1f} s")
    accepted = await sending
    sandbox.took_all(accepted)
    await sandbox.settled()
    sandbox.claim(f"none of {len(accepted)} is missing", sandbox.missing(accepted, "shop") == 0)
    sandbox.recovered(accepted, "shop", killed)
    sandbox.claim("no process ended", not any(process.fell for process in sandbox.processes))
    await sandbox.balanced()
