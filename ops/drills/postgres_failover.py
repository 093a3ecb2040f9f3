"""The primary fails and its standby is promoted. No process is restarted and no setting is changed."""

import asyncio
import time

from ops.drills.sandbox import Sandbox
from ops.drills.servers import Servers

RUNBOOK = "src/leadwire/docs/runbooks/database-down.md"
ENDPOINTS = ("shop",)
SETTINGS = {"LEASE": "35"}


def database_url(servers: Servers) -> str:
    """Both hosts: each process finds for itself which one takes changes."""
    hosts = f"{servers.run},{servers.standby_run}"
    return f"postgresql://postgres@/leadwire?host={hosts}&port=5432,5432&target_session_attrs=read-write"


async def run(sandbox: Sandbox, *, frozen: bool = False) -> None:
    """Find it with `doctor`; promote the standby, with which every commit was shared. With a `frozen` primary it is
    promoted at once, as by a cluster manager, while every process still waits for the old one.
    """
    await sandbox.servers.add_standby()
    sandbox.say("a standby follows; a commit is answered when both have it")
    sending = asyncio.create_task(sandbox.send_changes(1000, 50))
    await asyncio.sleep(3)
    if frozen:
        sandbox.servers.freeze_primary()
        sandbox.say("the primary is frozen: its connections stay open, and nothing is answered")
    else:
        await sandbox.servers.lose_primary()
        sandbox.say("the primary is dead")
        code, output = await sandbox.command("doctor", showing="ERROR")
        sandbox.claim("`doctor` says that none takes changes", code == 1 and "PostgreSQL answers" in output)
    await sandbox.servers.promote()
    promoted = time.time()
    sandbox.say("the standby is promoted")
    accepted = await sending
    again = sum(bool(one.refusals) for one in accepted)
    sandbox.say(f"{len(accepted)} changes were accepted, {again} of them only when asked again")
    await sandbox.settled()
    sandbox.claim(f"none of {len(accepted)} is missing", sandbox.missing(accepted, "shop") == 0)
    sandbox.recovered(accepted, "shop", promoted)
    sandbox.claim("no process ended", not any(process.fell for process in sandbox.processes))
    await sandbox.balanced()
