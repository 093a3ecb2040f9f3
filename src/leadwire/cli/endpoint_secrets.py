"""`leadwire endpoints secret`: a new signing secret without a delivery that cannot be verified."""

import click

from leadwire.cli.running import json_option, running, show


@click.group()
def secret() -> None:
    """Replace a secret in two steps."""


@secret.command()
@click.argument("endpoint_id", metavar="ID")
@json_option
@running
async def stage(endpoint_id: str, as_json: bool) -> None:
    """Make the next secret: deliveries are signed with both from now on."""
    from leadwire.webhooks import rotation

    staged = await rotation.stage(None, endpoint_id)
    if as_json:
        show({"id": endpoint_id, "staged_secret": staged})
    else:
        click.echo(f"{staged}\n\nTeach it to the receiver, then: leadwire endpoints secret promote {endpoint_id}")


@secret.command()
@click.argument("endpoint_id", metavar="ID")
@running
async def promote(endpoint_id: str) -> None:
    """Let the staged secret take the place of the present one."""
    from leadwire.webhooks import rotation

    await rotation.promote(None, endpoint_id)
    click.echo(f"{endpoint_id} signs with the new secret alone.")


@secret.command()
@click.argument("endpoint_id", metavar="ID")
@running
async def discard(endpoint_id: str) -> None:
    """Forget the staged secret."""
    from leadwire.webhooks import rotation

    await rotation.discard(None, endpoint_id)
    click.echo(f"{endpoint_id} signs with its present secret alone.")
