"""The primary dies for good; its standby is promoted. No process is restarted and no setting is changed."""

import asyncio
import time

from ops.drills.scene import Scene
from ops.drills.servers import Servers

RUNBOOK = "ops/runbooks/database-down.md"
ENDPOINTS = ("shop",)
SETTINGS = {"LEASE": "35"}


def database_url(servers: Servers) -> str:
    """Both hosts: each process finds for itself which one takes changes."""
    hosts = f"{servers.run},{servers.standby_run}"
    return f"postgresql://postgres@/leadwire?host={hosts}&port=5432,5432&target_session_attrs=read-write"


async def play(scene: Scene) -> None:
    """Find it with `doctor`; promote the standby, with which every commit was shared."""
    await scene.servers.add_standby()
    scene.say("a standby follows; a commit is answered when both have it")
    pushing = asyncio.create_task(scene.push(600, 50))
    await asyncio.sleep(3)
    start = time.monotonic()
    await scene.servers.lose_primary()
    scene.say("the primary is dead")
    code, told = await scene.command("doctor", showing="ERROR")
    scene.claim("`doctor` says that none takes changes", code == 1 and "PostgreSQL answers" in told)
    await scene.servers.promote()
    scene.say(f"the standby is promoted, {time.monotonic() - start:.1f} s after the primary died")
    accepted = await pushing
    again = sum(one.tries > 1 for one in accepted)
    scene.say(f"{len(accepted)} changes were accepted, {again} of them only when asked again")
    await scene.quiet()
    scene.claim(f"none of {len(accepted)} is missing", scene.missing(accepted, "shop") == 0)
    scene.claim("no process ended", not any(part.fell for part in scene.parts))
    await scene.balanced()
