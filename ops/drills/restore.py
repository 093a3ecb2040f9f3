"""The database and Redis are lost. Everything up to the backup must be restored and delivered."""

import asyncio
import os
import time
from pathlib import Path

from leadwire.infrastructure import db
from ops.drills.sandbox import Sandbox

RUNBOOK = "ops/deploy/README.md#backup-and-restore"
ENDPOINTS = ("shop",)
SETTINGS = {"RECONCILE_AFTER": "3", "RETRY_SCHEDULE": "10,10,10"}


async def run(sandbox: Sandbox) -> None:
    """Take a backup under load, lose the database, restore it."""
    file = Path(os.environ["LEADWIRE_DATA_DIR"]) / "leadwire.dump"
    sandbox.receiver.answers["shop"] = 500  # so that the backup holds what is still owed
    sending = asyncio.create_task(sandbox.send_changes(400, 50))
    await asyncio.sleep(3)
    began = time.time()
    await sandbox.servers.dump(file)
    sandbox.say(f"pg_dump under load: {time.time() - began:.2f} s, {file.stat().st_size / 1e6:.1f} MB")
    accepted = await sending
    saved = [one for one in accepted if one.accepted < began]
    await sandbox.stop()
    await db.close_pool()
    await sandbox.servers.lose_database()
    await sandbox.servers.redis_down()
    sandbox.say(
        f"the database is dropped, Redis is gone; {len(saved)} of {len(accepted)} changes are older than the backup"
    )
    start = time.monotonic()
    await sandbox.servers.redis_up()
    await sandbox.servers.restore(file)
    sandbox.say(f"restored in {time.monotonic() - start:.1f} s, with an empty Redis")
    await db.open_pool(os.environ["LEADWIRE_DATABASE_URL"], 4)
    sandbox.receiver.answers["shop"] = 204
    await sandbox.start()
    await sandbox.settled()
    sandbox.claim(f"every one of those {len(saved)} has arrived", sandbox.missing(saved, "shop") == 0)
    more = await sandbox.send_changes(50, 50)
    await sandbox.settled()
    sandbox.claim("new changes arrive as before", sandbox.missing(more, "shop") == 0)
    await sandbox.balanced()
