"""`leadwire keys`."""

from typing import Final

import click

from leadwire.domain.accounts.keys import SCOPES
from leadwire.domain.accounts.schema import KeyListed
from leadwire.infrastructure import clock
from leadwire.infrastructure.errors import NotFound
from leadwire.interfaces.cli.lazy import lazily
from leadwire.interfaces.cli.runtime import Result, audited, command, listing, the_workspace, workspace_option

with lazily():
    from leadwire.domain.accounts import changes, reads

_OVERLAPS: Final = {"now": 0, "1h": 3600, "24h": 86_400, "7d": 604_800}


_DAYS_HELP: Final = "Days until it expires; by default LEADWIRE_KEY_LIFE_DAYS, or never."
_NETWORKS_HELP: Final = "From where it may be used; by default anywhere. Repeatable."


keys = click.Group("keys", help="API keys of the /v1 API.")


@command(keys)
@click.option("--name", required=True, help="What it is for.")
@click.option("--scope", "scopes", multiple=True, help=f"{', '.join(SCOPES)}; write includes read; default all.")
@click.option("--expires-days", type=click.IntRange(1, 3650), help=_DAYS_HELP)
@click.option("--network", "networks", multiple=True, help=_NETWORKS_HELP)
@workspace_option
async def create(
    name: str, scopes: tuple[str, ...], expires_days: int | None, networks: tuple[str, ...], workspace: str | None
) -> Result:
    """Create a key. It is shown only once."""
    scopes = scopes or SCOPES
    expires_at = changes.key_end(clock.ago(days=-expires_days) if expires_days else None)
    owner = await the_workspace(workspace)
    async with audited("api_key.created", workspace=owner) as entry:
        entry.subject, key = await changes.create_key(owner, name, scopes, expires_at, networks)
        ends = f"{expires_at:%Y-%m-%d}" if expires_at else "never"
        entry.detail = (
            f"name: {name}; scopes: {' '.join(scopes)}; expires: {ends}; networks: {' '.join(networks) or 'any'}"
        )
    return _new(entry.subject, key, name=name, scopes=scopes)


@command(keys, "list")
@workspace_option
async def list_(workspace: str | None) -> Result:
    """List keys. The keys themselves are not stored and cannot be shown again."""
    rows = await reads.listed(workspace and await the_workspace(workspace))
    return listing(rows, _line, "No keys yet. Create one: leadwire keys create --name crm")


@command(keys)
@click.argument("key_id", metavar="ID")
@click.option("--overlap", type=click.Choice(list(_OVERLAPS)), default="24h", show_default=True)
async def roll(key_id: str, overlap: str) -> Result:
    """Create a new key with the same scopes, for as long a time. The old key works until the overlap has passed."""
    async with audited("api_key.rolled", key_id, await _owner(key_id)) as entry:
        new_id, key = await changes.roll_key(None, key_id, _OVERLAPS[overlap])
        entry.detail = f"key: {key_id} -> {new_id}; ends: {overlap}"
    return _new(new_id, key)


@command(keys)
@click.argument("key_id", metavar="ID")
async def revoke(key_id: str) -> Result:
    """Revoke a key. It stops working within 5 seconds."""
    async with audited("api_key.revoked", key_id, await _owner(key_id)):
        await changes.revoke_key(None, key_id)
    return Result({"id": key_id, "revoked": True}, f"{key_id} is revoked.")


async def _owner(key_id: str) -> str:
    """Whose key it is. Raise NotFound."""
    for key in await reads.listed():
        if key.id == key_id:
            return key.workspace_id
    raise NotFound(f"There is no API key {key_id}.")


def _new(key_id: str, key: str, **more: object) -> Result:
    text = f"{key}\n\nThis is {key_id}. Copy the key now: it is not shown again."
    return Result({"id": key_id, "key": key, **more}, text)


def _line(key: KeyListed) -> str:
    state = "revoked" if key.revoked_at else f"last used {key.last_used_at or 'never'}"
    more = [
        f"until {key.expires_at}" if key.expires_at else "",
        f"from {' '.join(key.networks)}" if key.networks else "",
    ]
    return "  ".join([
        key.id, f"{key.starts_with}...", key.name, f"[{' '.join(key.scopes)}]", state, *filter(None, more)
    ])  # fmt: skip
