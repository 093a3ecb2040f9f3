"""An upgrade under load: every process is replaced, one after another, with the settings of a new installation."""

import asyncio

from ops.drills.proxy import Proxy
from ops.drills.sandbox import Sandbox

RUNBOOK = "ops/deploy/README.md#upgrade-without-downtime"
ENDPOINTS = ("shop",)
SETTINGS: dict[str, str] = {}
LATE = 5.0  # seconds


async def run(sandbox: Sandbox) -> None:
    """No event is lost or late, and no request fails."""
    await replace(sandbox, LATE)


async def replace(sandbox: Sandbox, latest: float, settled: float = 90.0) -> None:
    """Migrate and replace every process while changes come in; check that nothing is lost, doubled or late. Nothing may
    be owed any more after `settled` seconds.
    """
    sandbox.receiver.delay = 0.05
    async with Proxy(sandbox.ports) as proxy:
        sending = asyncio.create_task(sandbox.send_changes(2000, 60, proxy.url))
        await asyncio.sleep(2)
        code, _ = await sandbox.command("migrate")
        sandbox.claim("the tables are those of the new version", code == 0)
        for process in sandbox.processes:
            await sandbox.restarted(process)
            sandbox.say(f"{process.name} is replaced{', after the last change' if sending.done() else ''}")
        accepted = await sending
    await sandbox.settled(settled)
    sandbox.claim(f"none of {len(accepted)} is missing", sandbox.missing(accepted, "shop") == 0)
    late = sandbox.late(accepted, "shop")
    sandbox.say(f"they arrived after {late[len(late) // 2]:.3f} s (p50), {late[-len(late) // 100]:.3f} s (p99)")
    sandbox.claim(f"none was late by more than {latest:g} s: the longest took {late[-1]:.3f} s", late[-1] <= latest)
    sandbox.claim("none came twice", sandbox.receiver.doubled() == 0)
    again = sum(bool(one.refusals) for one in accepted)
    sandbox.say(f"{again} requests met a connection that was being closed, and were sent again")
    await sandbox.balanced()
