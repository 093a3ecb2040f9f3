"""A worker hangs: it is alive and holds deliveries, but does nothing (SIGSTOP)."""

import asyncio
import contextlib

from ops.drills.sandbox import Sandbox

RUNBOOK = "src/leadwire/docs/runbooks/worker-wedged.md"
ENDPOINTS = ("shop",)
SETTINGS = {"DELIVERY_TIMEOUT": "10", "LEASE": "12"}


async def run(sandbox: Sandbox) -> None:
    """Find it by the oldest entry of a stream; another worker takes over when the lease ends."""
    sandbox.receiver.delay = 0.3
    sending = asyncio.create_task(sandbox.send_changes(300, 60))
    await asyncio.sleep(2)
    wedged = asyncio.create_task(sandbox.workers[0].freeze(600))
    sandbox.say("one of two workers is wedged")
    accepted = await sending
    await sandbox.command("status")
    await sandbox.settled()
    sandbox.claim(
        f"none of {len(accepted)} is missing though it is still wedged", sandbox.missing(accepted, "shop") == 0
    )
    late = sandbox.late(accepted, "shop")
    sandbox.say(
        f"events had arrived after {late[len(late) // 2]:.3f} s (p50), {late[-1]:.3f} s (longest; the lease is 12 s)"
    )
    wedged.cancel()
    with contextlib.suppress(asyncio.CancelledError):
        await wedged
    sandbox.say("it wakes, with deliveries in hand that are done")
    more = await sandbox.send_changes(60, 60)
    await sandbox.settled()
    sandbox.claim("it takes part again, and nothing is missing", sandbox.missing(more, "shop") == 0)
    sandbox.say(f"{sandbox.receiver.doubled()} POSTs came twice under the same webhook-id")
    await sandbox.balanced()
