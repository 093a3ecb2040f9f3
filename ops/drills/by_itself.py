"""A customer's server is down until everything is a dead letter, and comes back. Nobody does anything."""

import asyncio
import time

from ops.drills.sandbox import Sandbox

RUNBOOK = "src/leadwire/docs/replay.md"
ENDPOINTS = ("shop",)
SETTINGS = {"RETRY_SCHEDULE": "1,1,1"}
_LIVE, _RATE = 600, 10.0  # new events, and how many a second


async def run(sandbox: Sandbox) -> None:
    """The endpoint sends dead letters again by itself; new events beside them are no later than at other times."""
    await sandbox.command("endpoints", "configure", sandbox.workload.endpoints["shop"], "--auto-redrive")
    quiet = await sandbox.send_changes(300, _RATE)
    await sandbox.settled()
    before = sandbox.late(quiet, "shop")
    sandbox.receiver.answers["shop"] = 503
    sandbox.say("the endpoint answers 503 to everything")
    died = await sandbox.send_changes(1500, 100)
    await _dead(sandbox, len(died), len(died))
    sandbox.receiver.answers["shop"] = 204
    back = time.time()
    sandbox.say(f"it is back, and {len(died)} dead letters wait")
    await _dead(sandbox, 0, len(died) - 50)
    beside = await sandbox.send_changes(_LIVE, _RATE)
    await sandbox.settled(600)
    late = sandbox.late(beside, "shop")
    for name, ages in (("alone", before), ("beside the dead letters", late)):
        sandbox.say(f"new events {name}: {_at(ages, 0.5) * 1000:.1f} ms (p50), {_at(ages, 0.95) * 1000:.1f} ms (p95)")
    arrived = max(sandbox.receiver.acknowledged("shop").values()) - back
    sandbox.claim(f"everything has arrived after {arrived:.0f} s, within 10 minutes", arrived < 600)
    sandbox.claim("new events are no later than twice (p95)", _at(late, 0.95) <= 2 * max(_at(before, 0.95), 0.01))
    sandbox.claim(f"none of {len(died)} is missing", sandbox.missing(died, "shop") == 0)
    sandbox.claim("nothing was sent twice that had arrived", sandbox.receiver.doubled() == 0)
    await sandbox.balanced()


async def _dead(sandbox: Sandbox, least: int, most: int) -> None:
    """Wait until there are so many dead letters."""
    async with asyncio.timeout(180):
        while not least <= (await sandbox.states()).get("dead", 0) <= most:
            await asyncio.sleep(0.1)


def _at(ages: list[float], share: float) -> float:
    return ages[int(len(ages) * share)]
