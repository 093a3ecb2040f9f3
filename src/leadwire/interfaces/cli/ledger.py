"""`leadwire ledger`: the check that no delivery is missing."""

import click

from leadwire.interfaces.cli.runtime import json_option, running, show


@click.command()
@json_option
@running
async def ledger(as_json: bool) -> int:
    """Check that no delivery is missing or wrong. Exit 1 if one is."""
    from leadwire.domain.webhooks import system

    checks, redis_was_there = await system.ledger()
    broken = sum(check.broken for check in checks)
    if as_json:
        show({"balanced": broken == 0, "checks": [check._asdict() for check in checks]})
    else:
        for check in checks:
            click.echo(f"{check.broken:>8}  {check.meaning}")
        if not redis_was_there:
            click.echo("          (Redis cannot be reached: the streams were not checked)")
        click.echo("The ledger is balanced." if broken == 0 else "The ledger is NOT balanced.")
    return 0 if broken == 0 else 1
