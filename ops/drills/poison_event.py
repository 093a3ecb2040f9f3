"""One delivery kills every worker that touches it. It must be set aside, and everything else must go on."""

import asyncio

from ops.drills.receiver import Post
from ops.drills.scene import Scene

RUNBOOK = "ops/runbooks/delivery-set-aside.md"
ENDPOINTS = ("shop", "poison")
SETTINGS = {"DELIVERY_TIMEOUT": "1", "LEASE": "2", "RETRY_SCHEDULE": "1,2,3"}


async def play(scene: Scene) -> None:
    """Find it with `status` and `set-aside list`; when the cause is gone, release it."""
    killed, poison = 0, ""
    killing: set[asyncio.Task[None]] = set()

    def deadly(post: Post) -> bool:
        nonlocal killed, poison
        poison = poison or (post.event_id if post.endpoint == "poison" else "")
        if (post.endpoint, post.event_id) != ("poison", poison):
            return True
        killed += 1
        killing.add(asyncio.create_task(scene.workers[post.sender - 1].kill(0.2)))
        return False

    scene.receiver.before = deadly
    scene.say("the first event that goes to the endpoint `poison` kills the worker that sends it")
    accepted = await scene.push(1, 1)
    aside = ""
    async with asyncio.timeout(120):
        while poison not in aside or not poison:
            accepted += await scene.push(25, 25)
            scene.say(
                f"{killed} workers have died of it; {scene.missing(accepted, 'shop')} of {len(accepted)} not at `shop`"
            )
            _, aside = await scene.command("set-aside", "list", "--json")
    scene.claim("it is the one that is set aside", poison in aside)
    scene.claim("and nothing that was only held together with it", aside.count('"event_id"') == 1)
    await scene.command("status")
    scene.receiver.before = lambda _: True
    scene.say("the cause is found and gone")
    await scene.command("set-aside", "release")
    await scene.quiet()
    for name in ENDPOINTS:
        scene.claim(f"`{name}` lacks none of {len(accepted)}", scene.missing(accepted, name) == 0)
    await scene.balanced()
