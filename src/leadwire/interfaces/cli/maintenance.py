"""`leadwire migrate`, `ledger` and `reseal`: what an operator runs now and then."""

import functools

import click

from leadwire.interfaces.cli.runtime import json_option, print_json, report, running


@click.command()
@json_option
@functools.partial(running, migrated=False)  # or there would be nothing left to tell
async def migrate(as_json: bool) -> None:
    """Create or upgrade the tables. Safe to run at any time, also several at once."""
    from leadwire.infrastructure.db import migrations

    count = await migrations.migrate()
    told = f"{count} migration{'' if count == 1 else 's'} applied" if count else "nothing to do"
    report({"applied": count}, told, as_json=as_json)


@click.command()
@json_option
@running
async def ledger(as_json: bool) -> int:
    """Check that no delivery is missing or wrong. Exit 1 if one is."""
    from leadwire.domain.webhooks import system

    checks, redis_was_there = await system.ledger()
    broken = sum(check.broken for check in checks)
    if as_json:
        print_json({"balanced": broken == 0, "checks": [check._asdict() for check in checks]})
    else:
        for check in checks:
            click.echo(f"{check.broken:>8}  {check.meaning}")
        if not redis_was_there:
            click.echo("          (Redis cannot be reached: the streams were not checked)")
        click.echo("The ledger is balanced." if broken == 0 else "The ledger is NOT balanced.")
    return 0 if broken == 0 else 1


@click.command()
@json_option
@running
async def reseal(as_json: bool) -> None:
    """Encrypt every secret with the first key of LEADWIRE_SECRET_KEY, so that the other keys can be removed.

    First put the new key in front, on every host, and restart everything: only then does every process open what this
    seals. Visitors who were blocked before are not known again: of their networks only a hash under the key is kept.
    """
    from leadwire.delivery.endpoints import table as endpoints
    from leadwire.domain.accounts import table as accounts
    from leadwire.infrastructure import secret_box

    done = [await secret_box.reseal(secret_box.get(), column) for column in (*endpoints.SEALED, *accounts.SEALED)]
    told = f"{sum(done)} secrets were encrypted again: the first key decrypts all of them now."
    report({"sealed": sum(done)}, told, as_json=as_json)
