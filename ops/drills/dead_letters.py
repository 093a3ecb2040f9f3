"""A flood of dead letters: a customer's server has refused everything for as long as we try."""

import asyncio

from ops.drills.scene import Scene

RUNBOOK = "ops/runbooks/dead-letters-rising.md"
ENDPOINTS = ("shop",)
SETTINGS = {"RETRY_SCHEDULE": "1,1,1"}


async def play(scene: Scene) -> None:
    """Find them with `dead-letters list`; count, then send them again at a rate that the customer can bear."""
    scene.receiver.answers["shop"] = 500
    scene.say("the endpoint answers 500 to everything")
    accepted = await scene.push(500, 100)
    async with asyncio.timeout(60):
        while (await scene.states()).get("dead", 0) < len(accepted):
            await asyncio.sleep(0.1)
    _, told = await scene.command("dead-letters", "list", "--limit", "3")
    scene.claim(
        f"there are {len(accepted)}, and they say why", f"{len(accepted)} dead letters" in told and "http_5xx" in told
    )
    scene.receiver.answers["shop"] = 204
    scene.say("the customer has mended it")
    _, told = await scene.command("redrives", "start", "--outcome", "http_5xx", "--dry-run")
    scene.claim("a dry run counts them", told.startswith(f"{len(accepted)} would"))
    await scene.command("redrives", "start", "--outcome", "http_5xx", "--rate", "200", "--watch")
    await scene.quiet()
    scene.claim(f"none of {len(accepted)} is missing", scene.missing(accepted, "shop") == 0)
    scene.claim("no dead letter is left", not (await scene.states()).get("dead"))
    await scene.balanced()
