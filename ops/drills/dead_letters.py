"""Many dead letters: a customer's server has refused every attempt."""

import asyncio

from ops.drills.sandbox import Sandbox

RUNBOOK = "src/leadwire/docs/runbooks/dead-letters-rising.md"
ENDPOINTS = ("shop",)
SETTINGS = {"RETRY_SCHEDULE": "1,1,1"}


async def run(sandbox: Sandbox) -> None:
    """Find them with `dead-letters list`; count, then send them again at a rate that the server can handle."""
    sandbox.receiver.answers["shop"] = 500
    sandbox.say("the endpoint answers 500 to everything")
    accepted = await sandbox.send_changes(500, 100)
    async with asyncio.timeout(240):
        while (await sandbox.states()).get("dead", 0) < len(accepted):
            await asyncio.sleep(0.1)
    _, output = await sandbox.command("dead-letters", "list", "--limit", "3")
    sandbox.claim(
        f"there are {len(accepted)}, and they say why",
        f"{len(accepted)} dead letters" in output and "http_5xx" in output,
    )
    sandbox.receiver.answers["shop"] = 204
    sandbox.say("the customer has mended it")
    _, output = await sandbox.command("redrives", "start", "--outcome", "http_5xx", "--dry-run")
    sandbox.claim("a dry run counts them", output.startswith(f"{len(accepted)} would"))
    await sandbox.command("redrives", "start", "--outcome", "http_5xx", "--rate", "200")
    async with asyncio.timeout(240):
        while (await sandbox.states()).get("dead"):
            await asyncio.sleep(0.1)
    await sandbox.settled()
    sandbox.claim(f"none of {len(accepted)} is missing", sandbox.missing(accepted, "shop") == 0)
    sandbox.claim("no dead letter is left", not (await sandbox.states()).get("dead"))
    await sandbox.balanced()
