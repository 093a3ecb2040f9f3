"""`leadwire endpoints secret` and `key`: replace what signs in two steps, so that every delivery can be verified. And
`leadwire endpoints token` and `certificate`.
"""

from typing import BinaryIO, Final

import click

from leadwire.domain.webhooks.schema import Endpoint
from leadwire.infrastructure.errors import Conflict, OperatorError
from leadwire.interfaces.cli.lazy import lazily
from leadwire.interfaces.cli.runtime import Result, audited, command

with lazily():
    from leadwire.domain.webhooks import certificates, reads, receivers, rotation, signing_keys

_FILE: Final = click.File("rb")


secret = click.Group("secret", help="Replace a signing secret in two steps.")


@command(secret)
@click.argument("endpoint_id", metavar="ID")
@click.option("--replace", is_flag=True, help="Discard the secret that is already staged.")
async def stage(endpoint_id: str, replace: bool) -> Result:
    """Create the next secret. Deliveries are signed with both until it is promoted."""
    try:
        async with audited("endpoint.secret_staged", endpoint_id):
            staged = await rotation.stage(None, endpoint_id, replace=replace)
    except Conflict as error:
        raise OperatorError(f"{error} `--replace` discards it.") from error
    text = f"{staged}\n\nAdd it to the receiver, then: leadwire endpoints secret promote {endpoint_id}"
    return Result({"id": endpoint_id, "staged_secret": staged}, text)


@command(secret)
@click.argument("endpoint_id", metavar="ID")
async def promote(endpoint_id: str) -> Result:
    """Replace the current secret with the staged one."""
    async with audited("endpoint.secret_promoted", endpoint_id):
        endpoint = await rotation.promote(None, endpoint_id)
    return Result(endpoint, f"{endpoint_id} signs with the new secret only.")


@command(secret)
@click.argument("endpoint_id", metavar="ID")
async def discard(endpoint_id: str) -> Result:
    """Discard the staged secret."""
    async with audited("endpoint.secret_discarded", endpoint_id):
        endpoint = await rotation.discard(None, endpoint_id)
    return Result(endpoint, f"{endpoint_id} signs with its current secret only.")


key = click.Group("key", help="Replace a key of Ed25519 in two steps.")


@command(key, "stage")
@click.argument("endpoint_id", metavar="ID")
async def stage_key(endpoint_id: str) -> Result:
    """Publish the next key. It signs nothing until it is promoted, which may be ten minutes later."""
    async with audited("endpoint.key_staged", endpoint_id):
        endpoint = await signing_keys.stage(None, endpoint_id)
    return _keys(endpoint)


@command(key, "promote")
@click.argument("endpoint_id", metavar="ID")
async def promote_key(endpoint_id: str) -> Result:
    """Sign with the next key. The one before stays published for a day."""
    async with audited("endpoint.key_promoted", endpoint_id):
        endpoint = await signing_keys.promote(None, endpoint_id)
    return _keys(endpoint)


@command(key, "discard")
@click.argument("endpoint_id", metavar="ID")
async def discard_keys(endpoint_id: str) -> Result:
    """Publish the present key alone: discard the next one, and withdraw former ones."""
    async with audited("endpoint.keys_discarded", endpoint_id):
        endpoint = await signing_keys.discard(None, endpoint_id)
    return _keys(endpoint)


def _keys(endpoint: Endpoint) -> Result:
    lines = [f"{one.state:8}  {one.text}  since {one.since}" for one in endpoint.public_keys]
    return Result(endpoint.public_keys, "\n".join(lines))


@command()
@click.argument("endpoint_id", metavar="ID")
async def token(endpoint_id: str) -> Result:
    """Create the token with which the receiver asks for checkpoints and replays. Replaces the present one at once."""
    async with audited("endpoint.token_created", endpoint_id):
        made = await receivers.make_token(None, endpoint_id)
    return Result({"id": endpoint_id, "token": made}, f"{made}\n\nCopy the token now: it is not shown again.")


certificate = click.Group("certificate", help="The client certificate that the receiver is shown (mutual TLS).")


@command(certificate)
@click.argument("endpoint_id", metavar="ID")
@click.option("--certificate", "chain", type=_FILE, required=True, help="PEM: the certificate, then its chain.")
@click.option("--key", type=_FILE, required=True, help="PEM: its private key, without a passphrase.")
async def replace(endpoint_id: str, chain: BinaryIO, key: BinaryIO) -> Result:
    """Store a certificate and its key, encrypted. It is used from the next attempt on, instead of the present one."""
    given = [file.read().decode("ascii", "replace") for file in (chain, key)]
    async with audited("endpoint.certificate_replaced", endpoint_id) as entry:
        endpoint = await certificates.replace(None, endpoint_id, *given)
        entry.detail = f"{endpoint.certificate_subject}, until {endpoint.certificate_ends_at}"
    return Result(endpoint, f"{endpoint_id} shows {entry.detail}.")


@command(certificate)
@click.argument("endpoint_id", metavar="ID")
async def remove(endpoint_id: str) -> Result:
    """Remove the certificate and its key."""
    async with audited("endpoint.certificate_removed", endpoint_id) as entry:
        entry.detail = (await reads.endpoint(None, endpoint_id)).certificate_subject or ""
        await certificates.remove(None, endpoint_id)
    return Result({"id": endpoint_id, "certificate": None}, f"{endpoint_id} shows no certificate.")
