"""A worker hangs with its hands full: it is alive, holds deliveries, and does nothing (SIGSTOP)."""

import asyncio
import contextlib

from ops.drills.scene import Scene

RUNBOOK = "ops/runbooks/worker-wedged.md"
ENDPOINTS = ("shop",)
SETTINGS = {"DELIVERY_TIMEOUT": "2", "LEASE": "4"}


async def play(scene: Scene) -> None:
    """Find it by the oldest entry of a stream; another worker takes over when the lease ends."""
    scene.receiver.delay = 0.3
    pushing = asyncio.create_task(scene.push(300, 60))
    await asyncio.sleep(2)
    wedged = asyncio.create_task(scene.workers[0].freeze(600))
    scene.say("one of two workers is wedged")
    accepted = await pushing
    await scene.command("status")
    await scene.quiet()
    scene.claim(f"none of {len(accepted)} is missing though it is still wedged", scene.missing(accepted, "shop") == 0)
    late = scene.late(accepted, "shop")
    scene.say(
        f"events had arrived after {late[len(late) // 2]:.3f} s (p50), {late[-1]:.3f} s (longest; the lease is 4 s)"
    )
    wedged.cancel()
    with contextlib.suppress(asyncio.CancelledError):
        await wedged
    scene.say("it wakes, with deliveries in hand that are done")
    more = await scene.push(60, 60)
    await scene.quiet()
    scene.claim("it takes part again, and nothing is missing", scene.missing(more, "shop") == 0)
    scene.say(f"{scene.receiver.doubled()} POSTs came twice under the same webhook-id")
    await scene.balanced()
