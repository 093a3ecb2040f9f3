"""One delivery kills every worker that attempts it. It must be set aside, and all others must be delivered."""

import asyncio

from ops.drills.receiver import Post
from ops.drills.sandbox import Sandbox

RUNBOOK = "src/leadwire/docs/runbooks/delivery-set-aside.md"
ENDPOINTS = ("shop", "poison")
SETTINGS = {"DELIVERY_TIMEOUT": "1", "LEASE": "2", "RETRY_SCHEDULE": "1,2,3"}


async def run(sandbox: Sandbox) -> None:
    """Find it with `status` and `set-aside list`; when the cause is gone, release it."""
    killed, poison = 0, ""
    killing: set[asyncio.Task[None]] = set()

    def deadly(post: Post) -> bool:
        nonlocal killed, poison
        poison = poison or (post.event_id if post.endpoint == "poison" else "")
        if (post.endpoint, post.event_id) != ("poison", poison):
            return True
        killed += 1
        killing.add(asyncio.create_task(sandbox.workers[post.sender - 1].kill(0.2)))
        return False

    sandbox.receiver.before = deadly
    sandbox.say("the first event that goes to the endpoint `poison` kills the worker that sends it")
    accepted = await sandbox.send_changes(1, 1)
    aside = ""
    async with asyncio.timeout(120):
        while poison not in aside or not poison:
            accepted += await sandbox.send_changes(25, 25)
            missing = sandbox.missing(accepted, "shop")
            sandbox.say(f"{killed} workers have died of it; {missing} of {len(accepted)} not at `shop`")
            _, aside = await sandbox.command("set-aside", "list", "--json")
    sandbox.claim("it is the one that is set aside", poison in aside)
    sandbox.claim("and nothing that was only held together with it", aside.count('"event_id"') == 1)
    await sandbox.command("status")
    sandbox.receiver.before = lambda _: True
    sandbox.say("the cause is found and gone")
    await sandbox.command("set-aside", "release")
    await sandbox.settled()
    for name in ENDPOINTS:
        sandbox.claim(f"`{name}` lacks none of {len(accepted)}", sandbox.missing(accepted, name) == 0)
    await sandbox.balanced()
