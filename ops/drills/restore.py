"""The database is lost, and Redis with it. Everything up to the backup must be there again, and be delivered."""

import asyncio
import os
import time
from pathlib import Path

from leadwire.infrastructure import db
from ops.drills.scene import Scene

RUNBOOK = "ops/deploy/README.md#backup-and-restore"
ENDPOINTS = ("shop",)
SETTINGS = {"RECONCILE_AFTER": "3", "RETRY_SCHEDULE": "10,10,10"}


async def play(scene: Scene) -> None:
    """A backup under load, the accident, the way back."""
    file = Path(os.environ["LEADWIRE_DATA_DIR"]) / "leadwire.dump"
    scene.receiver.answers["shop"] = 500  # so that the backup holds what is still owed
    pushing = asyncio.create_task(scene.push(400, 50))
    await asyncio.sleep(3)
    began = time.time()
    await scene.servers.dump(file)
    scene.say(f"pg_dump under load: {time.time() - began:.2f} s, {file.stat().st_size / 1e6:.1f} MB")
    accepted = await pushing
    saved = [one for one in accepted if one.accepted < began]
    await scene.stop()
    await db.close_pool()
    await scene.servers.lose_database()
    await scene.servers.redis_down()
    scene.say(
        f"the database is dropped, Redis is gone; {len(saved)} of {len(accepted)} changes are older than the backup"
    )
    start = time.monotonic()
    await scene.servers.redis_up()
    await scene.servers.restore(file)
    scene.say(f"restored in {time.monotonic() - start:.1f} s, with an empty Redis")
    await db.open_pool(os.environ["LEADWIRE_DATABASE_URL"], 4)
    scene.receiver.answers["shop"] = 204
    await scene.start()
    await scene.quiet()
    scene.claim(f"every one of those {len(saved)} has arrived", scene.missing(saved, "shop") == 0)
    more = await scene.push(50, 50)
    await scene.quiet()
    scene.claim("new changes arrive as before", scene.missing(more, "shop") == 0)
    await scene.balanced()
