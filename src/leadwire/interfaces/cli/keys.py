"""`leadwire keys`."""

from typing import TYPE_CHECKING, Final

import click

from leadwire.domain.accounts.keys import SCOPES
from leadwire.infrastructure import clock
from leadwire.infrastructure.errors import OperatorError
from leadwire.interfaces.cli.runtime import Result, listing, operation, record, the_workspace, workspace_option

if TYPE_CHECKING:
    from leadwire.domain.accounts.schema import KeyListed

_OVERLAPS: Final = {"now": 0, "1h": 3600, "24h": 86_400, "7d": 604_800}


_DAYS_HELP: Final = "Days until it expires; by default LEADWIRE_KEY_LIFE_DAYS, or never."
_networks = click.option(
    "--network", "networks", multiple=True, help="From where it may be used; by default anywhere. Repeatable."
)


@click.group()
def keys() -> None:
    """API keys of the /v1 API."""


@keys.command()
@click.option("--name", required=True, help="What it is for.")
@click.option("--scope", "scopes", multiple=True, help=f"{', '.join(SCOPES)}; default all.")
@click.option("--expires-days", type=click.IntRange(1, 3650), help=_DAYS_HELP)
@_networks
@workspace_option
@operation
async def create(
    name: str, scopes: tuple[str, ...], expires_days: int | None, networks: tuple[str, ...], workspace: str | None
) -> Result:
    """Create a key. It is shown only once."""
    from leadwire.domain.accounts import changes
    from leadwire.infrastructure import db

    expires_at = clock.ago(days=-expires_days) if expires_days else None
    expires_at = changes.key_end(expires_at)
    owner = await the_workspace(workspace)
    async with db.transaction():
        key_id, key = await changes.create_key(owner, name, scopes or SCOPES, expires_at, networks)
        ends = f"{expires_at:%Y-%m-%d}" if expires_at else "never"
        detail = f"name: {name}; scopes: {' '.join(scopes or SCOPES)}; expires: {ends}"
        await record(owner, "api_key.created", key_id, f"{detail}; networks: {' '.join(networks) or 'any'}")
    return _new(key_id, key, name=name, scopes=scopes or SCOPES)


@keys.command("list")
@workspace_option
@operation
async def list_(workspace: str | None) -> Result:
    """List keys. The keys themselves are not stored and cannot be shown again."""
    from leadwire.domain.accounts import reads

    found = await reads.listed(workspace and await the_workspace(workspace))
    return listing(found, _line, "No keys yet. Create one: leadwire keys create --name crm")


@keys.command()
@click.argument("key_id", metavar="ID")
@click.option("--overlap", type=click.Choice(list(_OVERLAPS)), default="24h", show_default=True)
@operation
async def roll(key_id: str, overlap: str) -> Result:
    """Create a new key with the same scopes. The old key works until the overlap has passed."""
    from leadwire.domain.accounts import changes
    from leadwire.infrastructure import db

    async with db.transaction():
        made, key = await changes.roll_key(None, key_id, _OVERLAPS[overlap])
        await record(await _owner(key_id), "api_key.rolled", key_id, f"key: {key_id} -> {made}; ends: {overlap}")
    return _new(made, key)


@keys.command("networks")
@click.argument("key_id", metavar="ID")
@_networks
@click.option("--any", "anywhere", is_flag=True, help="From anywhere again.")
@operation
async def networks_(key_id: str, networks: tuple[str, ...], anywhere: bool) -> Result:
    """Let a key be used from some networks only. It holds within 5 seconds."""
    from leadwire.domain.accounts import changes
    from leadwire.infrastructure import db

    if bool(networks) == anywhere:
        raise OperatorError("give either --network or --any")
    async with db.transaction():
        before, allowed = await changes.set_key_networks(None, key_id, networks)
        detail = f"networks: {' '.join(before) or 'any'} -> {' '.join(allowed) or 'any'}"
        await record(await _owner(key_id), "api_key.networks_changed", key_id, detail)
    text = f"{key_id} may be used from {' '.join(allowed) or 'anywhere'}."
    return Result({"id": key_id, "networks": allowed}, text)


@keys.command()
@click.argument("key_id", metavar="ID")
@operation
async def revoke(key_id: str) -> Result:
    """Revoke a key. It stops working within 5 seconds."""
    from leadwire.domain.accounts import changes
    from leadwire.infrastructure import db

    async with db.transaction():
        await changes.revoke_key(None, key_id)
        await record(await _owner(key_id), "api_key.revoked", key_id)
    return Result({"id": key_id, "revoked": True}, f"{key_id} is revoked.")


async def _owner(key_id: str) -> str:
    from leadwire.domain.accounts import reads

    return next(key.workspace_id for key in await reads.listed() if key.id == key_id)


def _new(key_id: str, key: str, **more: object) -> Result:
    text = f"{key}\n\nThis is {key_id}. Copy the key now: it is not shown again."
    return Result({"id": key_id, "key": key, **more}, text)


def _line(key: "KeyListed") -> str:
    state = "revoked" if key.revoked_at else f"last used {key.last_used_at or 'never'}"
    more = [
        f"until {key.expires_at}" if key.expires_at else "",
        f"from {' '.join(key.networks)}" if key.networks else "",
    ]
    return "  ".join([
        key.id, f"{key.starts_with}...", key.name, f"[{' '.join(key.scopes)}]", state, *filter(None, more)
    ])  # fmt: skip
