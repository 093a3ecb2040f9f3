"""A report holds an old snapshot while changes are delivered: dead rows stay until it ends."""

import asyncio
import time

from leadwire.delivery.monitoring import holders
from ops.drills.sandbox import Sandbox

RUNBOOK = "src/leadwire/docs/runbooks/snapshot-held.md"
ENDPOINTS = ("shop",)
SETTINGS = {"DELIVERY_TIMEOUT": "2", "LEASE": "4"}
_DEAD = """SELECT sum(pg_stat_get_dead_tuples(name))::int
FROM unnest('{delivery,outbox,webhook_endpoint,job}'::regclass[]) AS open_work (name)"""
_REPORT = "SELECT count(*), pg_sleep(600) FROM event"
_PATIENCE = 240.0  # seconds


async def run(sandbox: Sandbox) -> None:
    """Name who holds it, end it, and see that the dead rows go."""
    report, other = await sandbox.servers.connect(), await sandbox.servers.connect()
    await report.execute("SET application_name = 'monthly report'; BEGIN ISOLATION LEVEL REPEATABLE READ")
    reading = asyncio.create_task(report.execute(_REPORT))
    sandbox.say("a report reads all events, and goes on and on")
    accepted = await sandbox.send_changes(600, 60)
    await sandbox.settled()
    sandbox.claim(f"none of {len(accepted)} is missing", sandbox.missing(accepted, "shop") == 0)
    late = sandbox.late(accepted, "shop")
    sandbox.say(f"events had arrived after {late[len(late) // 2]:.3f} s (p50), {late[-1]:.3f} s (longest)")
    await other.execute("VACUUM delivery, outbox, webhook_endpoint, job")
    dead = await other.fetchval(_DEAD)
    sandbox.claim(f"{dead} dead rows stay, whatever vacuum does", dead >= len(accepted))
    await sandbox.command("doctor", showing="transactions left open")
    holder = (await holders.holders())[0]
    sandbox.say(str(holder))
    sandbox.claim("the oldest snapshot is that of the report", "monthly report" in holder.about)
    await other.execute("SELECT pg_terminate_backend($1)", report.get_server_pid())
    await asyncio.gather(reading, return_exceptions=True)
    sandbox.say("it is ended")
    end = time.monotonic() + _PATIENCE
    while dead >= len(accepted) and time.monotonic() < end:
        await other.execute("VACUUM delivery, outbox, webhook_endpoint, job")
        dead = await other.fetchval(_DEAD)
    sandbox.claim(f"vacuum removes them: {dead} are left", dead < len(accepted))
    await other.close()
    await sandbox.balanced()
