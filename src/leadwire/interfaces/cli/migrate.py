"""`leadwire migrate`."""

import functools

import click

from leadwire.interfaces.cli.runtime import json_option, running, tell


@click.command()
@json_option
@functools.partial(running, migrated=False)  # or there would be nothing left to tell
async def migrate(as_json: bool) -> None:
    """Create or upgrade the tables. Safe to run at any time, also several at once."""
    from leadwire.infrastructure.db.migrations import migrate as apply

    count = await apply()
    told = f"{count} migration{'' if count == 1 else 's'} applied" if count else "nothing to do"
    tell({"applied": count}, told, as_json=as_json)
