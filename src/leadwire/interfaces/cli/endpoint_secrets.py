"""`leadwire endpoints secret`: replace a signing secret in two steps, so that every delivery can be verified. And
`leadwire endpoints token`.
"""

import click

from leadwire.infrastructure.errors import Conflict, OperatorError
from leadwire.interfaces.cli.runtime import Result, audited, operation


@click.group()
def secret() -> None:
    """Replace a signing secret in two steps."""


@secret.command()
@click.argument("endpoint_id", metavar="ID")
@click.option("--replace", is_flag=True, help="Discard the secret that is already staged.")
@operation
async def stage(endpoint_id: str, replace: bool) -> Result:
    """Create the next secret. Deliveries are signed with both until it is promoted."""
    from leadwire.domain.webhooks import rotation

    try:
        async with audited("endpoint.secret_staged", endpoint_id):
            staged = await rotation.stage(None, endpoint_id, replace=replace)
    except Conflict as error:
        raise OperatorError(f"{error} `--replace` discards it.") from error
    text = f"{staged}\n\nAdd it to the receiver, then: leadwire endpoints secret promote {endpoint_id}"
    return Result({"id": endpoint_id, "staged_secret": staged}, text)


@secret.command()
@click.argument("endpoint_id", metavar="ID")
@operation
async def promote(endpoint_id: str) -> Result:
    """Replace the current secret with the staged one."""
    from leadwire.domain.webhooks import rotation

    async with audited("endpoint.secret_promoted", endpoint_id):
        endpoint = await rotation.promote(None, endpoint_id)
    return Result(endpoint, f"{endpoint_id} signs with the new secret only.")


@secret.command()
@click.argument("endpoint_id", metavar="ID")
@operation
async def discard(endpoint_id: str) -> Result:
    """Discard the staged secret."""
    from leadwire.domain.webhooks import rotation

    async with audited("endpoint.secret_discarded", endpoint_id):
        endpoint = await rotation.discard(None, endpoint_id)
    return Result(endpoint, f"{endpoint_id} signs with its current secret only.")


@click.command()
@click.argument("endpoint_id", metavar="ID")
@operation
async def token(endpoint_id: str) -> Result:
    """Create the token with which the receiver asks for checkpoints and replays. Replaces the present one at once."""
    from leadwire.domain.webhooks import receivers

    async with audited("endpoint.token_created", endpoint_id):
        made = await receivers.make_token(None, endpoint_id)
    return Result({"id": endpoint_id, "token": made}, f"{made}\n\nCopy the token now: it is not shown again.")
