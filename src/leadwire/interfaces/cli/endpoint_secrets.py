"""`leadwire endpoints secret`: a new signing secret without a delivery that cannot be verified."""

import click

from leadwire.interfaces.cli.runtime import json_option, running, tell


@click.group()
def secret() -> None:
    """Replace a secret in two steps."""


@secret.command()
@click.argument("endpoint_id", metavar="ID")
@click.option("--replace", is_flag=True, help="Discard the secret that is staged already.")
@json_option
@running
async def stage(endpoint_id: str, replace: bool, as_json: bool) -> None:
    """Make the next secret: deliveries are signed with both from now on."""
    from leadwire.domain.webhooks import rotation
    from leadwire.infrastructure.errors import Conflict, OperatorError

    try:
        staged = await rotation.stage(None, endpoint_id, replace=replace)
    except Conflict as error:
        raise OperatorError(f"{error} `--replace` discards it.") from error
    told = f"{staged}\n\nTeach it to the receiver, then: leadwire endpoints secret promote {endpoint_id}"
    tell({"id": endpoint_id, "staged_secret": staged}, told, as_json=as_json)


@secret.command()
@click.argument("endpoint_id", metavar="ID")
@json_option
@running
async def promote(endpoint_id: str, as_json: bool) -> None:
    """Let the staged secret take the place of the present one."""
    from leadwire.domain.webhooks import rotation

    endpoint = await rotation.promote(None, endpoint_id)
    tell(endpoint, f"{endpoint_id} signs with the new secret alone.", as_json=as_json)


@secret.command()
@click.argument("endpoint_id", metavar="ID")
@json_option
@running
async def discard(endpoint_id: str, as_json: bool) -> None:
    """Forget the staged secret."""
    from leadwire.domain.webhooks import rotation

    endpoint = await rotation.discard(None, endpoint_id)
    tell(endpoint, f"{endpoint_id} signs with its present secret alone.", as_json=as_json)
