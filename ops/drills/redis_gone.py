"""Redis and its data are lost. The API must keep working, and webhooks must be sent once there is a new Redis."""

import asyncio

from ops.drills.sandbox import Sandbox

RUNBOOK = "src/leadwire/docs/runbooks/redis-down.md"
ENDPOINTS = ("shop",)
SETTINGS = {"RECONCILE_AFTER": "3"}


async def run(sandbox: Sandbox) -> None:
    """Find it with `status` and `doctor`; start another, which may be empty."""
    sandbox.receiver.delay = 0.2  # so that the streams hold something when it happens
    sending = asyncio.create_task(sandbox.send_changes(400, 50, patience=240))
    await asyncio.sleep(2)
    await sandbox.servers.redis_down()
    sandbox.say("Redis is gone, with its disk")
    _, output = await sandbox.command("status")
    sandbox.claim("`status` says so", "Redis cannot be reached" in output)
    code, output = await sandbox.command("doctor", showing="ERROR")
    sandbox.claim("`doctor` says so", code == 1 and "Redis answers" in output)
    accepted = await sending
    sandbox.took_all(accepted)
    sandbox.claim("some events have not arrived yet", sandbox.missing(accepted, "shop") > 0)
    await sandbox.servers.redis_up()
    sandbox.say("a new, empty Redis is there")
    await sandbox.settled()
    sandbox.claim(f"none of {len(accepted)} is missing", sandbox.missing(accepted, "shop") == 0)
    await sandbox.balanced()
