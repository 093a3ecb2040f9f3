"""An upgrade under load: every process is replaced, one after another, with the settings of a new installation."""

import asyncio

from ops.drills.proxy import Proxy
from ops.drills.scene import Scene

RUNBOOK = "ops/deploy/README.md#upgrade-without-downtime"
ENDPOINTS = ("shop",)
SETTINGS: dict[str, str] = {}
LATE = 5.0  # seconds


async def play(scene: Scene) -> None:
    """Nothing is lost, nothing is late, nobody's request fails."""
    scene.receiver.delay = 0.05
    async with Proxy(scene.ports) as proxy:
        pushing = asyncio.create_task(scene.push(2000, 60, proxy.url))
        await asyncio.sleep(2)
        for part in scene.parts:
            await scene.restarted(part)
            scene.say(f"{part.name} is replaced")
        accepted = await pushing
    await scene.quiet()
    scene.claim(f"none of {len(accepted)} is missing", scene.missing(accepted, "shop") == 0)
    late = scene.late(accepted, "shop")
    scene.say(f"they arrived after {late[len(late) // 2]:.3f} s (p50), {late[-len(late) // 100]:.3f} s (p99)")
    scene.claim(f"none was late by more than {LATE:g} s: the longest took {late[-1]:.3f} s", late[-1] <= LATE)
    scene.claim("none came twice", scene.receiver.doubled() == 0)
    again = sum(one.tries > 1 for one in accepted)
    scene.say(f"{again} requests met a connection that was being closed, and were sent again")
    await scene.balanced()
