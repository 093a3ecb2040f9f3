"""Redis is gone, and what it held with it. The API must go on; webhooks must follow when there is a new one."""

import asyncio

from ops.drills.scene import Scene

RUNBOOK = "ops/runbooks/redis-down.md"
ENDPOINTS = ("shop",)
SETTINGS = {"RECONCILE_AFTER": "3"}


async def play(scene: Scene) -> None:
    """Find it with `status` and `doctor`; start another, which may be empty."""
    scene.receiver.delay = 0.2  # so that the streams hold something when it happens
    pushing = asyncio.create_task(scene.push(400, 50))
    await asyncio.sleep(2)
    await scene.servers.redis_down()
    scene.say("Redis is gone, with its disk")
    _, told = await scene.command("status")
    scene.claim("`status` says so", "Redis cannot be reached" in told)
    code, told = await scene.command("doctor", showing="ERROR")
    scene.claim("`doctor` says so", code == 1 and "Redis answers" in told)
    accepted = await pushing
    scene.claim(f"the API took all {len(accepted)} changes meanwhile", all(one.tries == 1 for one in accepted))
    scene.claim("some events have not arrived yet", scene.missing(accepted, "shop") > 0)
    await scene.servers.redis_up()
    scene.say("a new, empty Redis is there")
    await scene.quiet()
    scene.claim(f"none of {len(accepted)} is missing", scene.missing(accepted, "shop") == 0)
    await scene.balanced()
