"""`leadwire migrate`."""

import functools

import click

from leadwire.cli.running import running


@click.command()
@functools.partial(running, migrated=False)  # or there would be nothing left to tell
async def migrate() -> None:
    """Bring the database to this version's tables. Safe to run at any time, by several at once."""
    from leadwire.migrate import migrate as apply

    count = await apply()
    click.echo(f"{count} migration{'' if count == 1 else 's'} applied" if count else "nothing to do")
