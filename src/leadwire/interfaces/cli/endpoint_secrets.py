"""`leadwire endpoints secret`: replace a signing secret in two steps, so that every delivery can be verified."""

import click

from leadwire.interfaces.cli.runtime import audited, json_option, report, running


@click.group()
def secret() -> None:
    """Replace a signing secret in two steps."""


@secret.command()
@click.argument("endpoint_id", metavar="ID")
@click.option("--replace", is_flag=True, help="Discard the secret that is already staged.")
@json_option
@running
async def stage(endpoint_id: str, replace: bool, as_json: bool) -> None:
    """Create the next secret. Deliveries are signed with both until it is promoted."""
    from leadwire.domain.webhooks import rotation
    from leadwire.infrastructure.errors import Conflict, OperatorError

    try:
        async with audited("endpoint.secret_staged", endpoint_id):
            staged = await rotation.stage(None, endpoint_id, replace=replace)
    except Conflict as error:
        raise OperatorError(f"{error} `--replace` discards it.") from error
    told = f"{staged}\n\nAdd it to the receiver, then: leadwire endpoints secret promote {endpoint_id}"
    report({"id": endpoint_id, "staged_secret": staged}, told, as_json=as_json)


@secret.command()
@click.argument("endpoint_id", metavar="ID")
@json_option
@running
async def promote(endpoint_id: str, as_json: bool) -> None:
    """Replace the current secret with the staged one."""
    from leadwire.domain.webhooks import rotation

    async with audited("endpoint.secret_promoted", endpoint_id):
        endpoint = await rotation.promote(None, endpoint_id)
    report(endpoint, f"{endpoint_id} signs with the new secret only.", as_json=as_json)


@secret.command()
@click.argument("endpoint_id", metavar="ID")
@json_option
@running
async def discard(endpoint_id: str, as_json: bool) -> None:
    """Discard the staged secret."""
    from leadwire.domain.webhooks import rotation

    async with audited("endpoint.secret_discarded", endpoint_id):
        endpoint = await rotation.discard(None, endpoint_id)
    report(endpoint, f"{endpoint_id} signs with its current secret only.", as_json=as_json)
