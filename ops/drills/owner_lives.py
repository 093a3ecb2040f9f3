"""PostgreSQL freezes for longer than a lease while POSTs are under way. No other worker sends the same again."""

import asyncio
from collections import Counter
from typing import Final

from ops.drills.sandbox import Sandbox

RUNBOOK = "src/leadwire/docs/runbooks/database-down.md"
ENDPOINTS = ("shop",)
SETTINGS: dict[str, str] = {}
_POSTS: Final = 60
_FROZEN_FOR: Final = 80.0  # seconds: longer than a lease


async def run(sandbox: Sandbox) -> None:
    """Freeze it while a receiver takes its time; both workers live."""
    await sandbox.send_changes(200, 60)  # by then it may have many at once
    await sandbox.settled()
    before = len(sandbox.receiver.posts)
    sandbox.receiver.delay = 25.0
    accepted = await sandbox.send_changes(_POSTS, 60)
    sandbox.servers.freeze_primary()
    sandbox.say(f"PostgreSQL is frozen, with {len(sandbox.receiver.posts) - before} POSTs under way")
    await asyncio.sleep(_FROZEN_FOR)
    sandbox.receiver.delay = 0.0
    sandbox.servers.thaw_primary()
    sandbox.say(f"it goes on, {_FROZEN_FOR:g} s later")
    await sandbox.settled()
    sandbox.claim(f"none of {len(accepted)} is missing", sandbox.missing(accepted, "shop") == 0)
    posts = Counter(post.event_id for post in sandbox.receiver.posts)
    again = sum(count - 1 for count in posts.values())
    sandbox.claim(f"none was sent again: {again} of {len(posts)}", again == 0)
    sandbox.claim("no process ended", not any(process.fell for process in sandbox.processes))
    await sandbox.balanced()
