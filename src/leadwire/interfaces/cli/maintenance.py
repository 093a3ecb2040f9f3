"""What an operator runs now and then: `leadwire migrate`, `status`, `doctor`, `ledger`, `set-aside`, `reseal`."""

import asyncio
import functools
import os
from typing import Final

import click

from leadwire.interfaces.cli.lazy import lazily
from leadwire.interfaces.cli.runtime import Result, command, patiently, running, servers, show

with lazily():
    from leadwire.delivery.relay import fan_out
    from leadwire.delivery.worker import quarantine
    from leadwire.domain.webhooks import system
    from leadwire.infrastructure import secret_box, settings
    from leadwire.interfaces.cli import checks, migration_plan
    from leadwire.interfaces.cli import status as shown

_LOOK: Final = {"ok": ("ok     ", "green"), "warning": ("warning", "yellow"), "error": ("ERROR  ", "red")}
_PATIENCE: Final = 10.0  # seconds for Redis: on a busy machine this process itself is late
_EGRESS: Final = "Also connect to the hosts of the endpoints that were tried lately, or to this one; nothing is sent."


@command(run=functools.partial(running, migrated=False))  # or there would be nothing left to tell
@click.option("--plan", is_flag=True, help="Only show what it would do, what that locks, and what it reads.")
async def migrate(plan: bool) -> Result:
    """Create or upgrade the tables. Safe to run at any time, also several at once and beside the processes."""
    from leadwire.infrastructure.db import migrations, rights

    if plan:
        return await migration_plan.shown()
    count = await migrations.migrate()
    text = f"{count} migration{'' if count == 1 else 's'} applied" if count else "nothing to do"
    if role := settings.get().service_role:
        await rights.grant(role, settings.get().audit_retention_days)
        text += f"; {role} may serve"
    return Result({"applied": count}, text)


@command()
async def status() -> Result:
    """Show streams, lag, overdue deliveries, dead letters and workers."""
    now = await system.now(finished=True, patience=_PATIENCE)
    return Result(now, shown.text(now))


@click.command()
@click.option("--egress", metavar="[HOST]", is_flag=False, flag_value="", help=_EGRESS)
@click.option(
    "--within", default=15.0, show_default=True, type=click.FloatRange(1, 3600), help="Seconds for all checks together."
)
@click.option("--json", "as_json", is_flag=True, help="Print one JSON document.")
def doctor(egress: str | None, within: float, as_json: bool) -> int:
    """Check settings, servers, tables and clocks; show each problem with its fix. Exit 1 if one is an error."""
    with servers() as chosen, asyncio.Runner() as runner:
        findings = runner.run(checks.examine(chosen, os.environ, egress, within))
        return show(_examined(findings), as_json=as_json)  # before the loop ends, which may wait for a name server


def _examined(findings: "list[checks.finding.Finding]") -> Result:
    errors, warnings = (sum(finding.level == level for finding in findings) for level in ("error", "warning"))
    lines = []
    for finding in findings:
        word, color = _LOOK[finding.level]
        lines.append(f"{click.style(word, color)}  {finding.about}: {finding.says}")
        if finding.fix:
            lines.append(f"         fix: {finding.fix}")
    lines.append(f"{errors} errors, {warnings} warnings." if errors or warnings else "No problems found.")
    document = {"sound": errors == 0, "errors": errors, "warnings": warnings, "findings": findings}
    return Result(document, "\n".join(lines), 1 if errors else 0)


@command(run=patiently)
async def ledger() -> Result:
    """Check that no delivery is missing or wrong. Exit 1 if one is. Say where the database became another server."""
    results, redis_was_there, begun = await system.check_ledger()
    broken = sum(check.broken for check in results)
    lines = [f"{check.broken:>8}  {check.meaning}" for check in results]
    if not redis_was_there:
        lines.append("          (Redis cannot be reached: the streams were not checked)")
    lines.extend(map(str, begun))
    lines.append("The ledger is balanced." if broken == 0 else "The ledger is NOT balanced.")
    document = {"balanced": broken == 0, "checks": [check._asdict() for check in results], "epochs": begun}
    return Result(document, "\n".join(lines), 0 if broken == 0 else 1)


set_aside = click.Group("set-aside", help="Deliveries that no worker survived, and events that cannot be relayed.")


@command(set_aside, "list")
async def list_() -> Result:
    """List them, oldest first. An event has no endpoint, and the error of its relay."""
    document = [
        {"event_id": event, "endpoint_id": endpoint, "event": kind, "error": None}
        for event, endpoint, kind in await quarantine.listed()
    ] + [
        {"event_id": event, "endpoint_id": None, "event": kind, "error": error}
        for event, kind, error in await fan_out.listed()
    ]
    lines = [f"{entry['event_id']}  {entry['event']}  {entry['endpoint_id'] or entry['error']}" for entry in document]
    return Result(document, "\n".join([*lines, f"{len(lines)} set aside"]))


@command(set_aside)
@click.option("--event", metavar="ID", help="Only this event and its deliveries; by default all.")
async def release(event: str | None) -> Result:
    """Try them again."""
    from leadwire.delivery.streams import push

    count = await quarantine.release(event) + await fan_out.release(event)
    push.wake_relay()
    return Result({"released": count}, f"{count} released.")


@command(run=patiently)
@click.option("--unbound", is_flag=True, help="As versions before 0.1.0 can open them, before you go back to one.")
async def reseal(unbound: bool) -> Result:
    """Encrypt every secret with the first key of LEADWIRE_SECRET_KEY, so that the other keys can be removed.

    First put the new key in front, on every host, and restart everything: only then does every process open what this
    seals. What versions before 0.1.0 have sealed is bound to its row. Visitors who were blocked before are not known
    again: of their networks only a hash under the key is kept.
    """
    from leadwire.infrastructure.db import declared

    columns = [column for some in declared.sealed().values() for column in some]
    done = [await secret_box.reseal(secret_box.get(), column, bound=not unbound) for column in columns]
    text = f"{sum(done)} secrets were encrypted again: the first key decrypts all of them now."
    return Result({"sealed": sum(done)}, text)
