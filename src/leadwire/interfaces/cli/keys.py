"""`leadwire keys`."""

from typing import TYPE_CHECKING, Final

import click

from leadwire.domain.accounts.keys import SCOPES
from leadwire.infrastructure import clock
from leadwire.interfaces.cli.runtime import json_option, print_list, report, running, the_workspace, workspace_option

if TYPE_CHECKING:
    from leadwire.domain.accounts.schema import KeyListed

_OVERLAPS: Final = {"now": 0, "1h": 3600, "24h": 86_400, "7d": 604_800}
_SHOWN: Final = "{key}\n\nThis is {id}. Copy the key now: it is not shown again."


@click.group()
def keys() -> None:
    """API keys of the /v1 API."""


@keys.command()
@click.option("--name", required=True, help="What it is for.")
@click.option("--scope", "scopes", multiple=True, help=f"{', '.join(SCOPES)}; default all.")
@click.option("--expires-days", type=click.IntRange(1, 3650), help="Days until it expires; by default never.")
@workspace_option
@json_option
@running
async def create(
    name: str, scopes: tuple[str, ...], expires_days: int | None, workspace: str | None, as_json: bool
) -> None:
    """Create a key. It is shown only once."""
    from leadwire.domain.accounts import changes

    expires_at = clock.ago(days=-expires_days) if expires_days else None
    key_id, key = await changes.create_key(await the_workspace(workspace), name, scopes or SCOPES, expires_at)
    document = {"id": key_id, "key": key, "name": name, "scopes": list(scopes or SCOPES)}
    report(document, _SHOWN.format(key=key, id=key_id), as_json=as_json)


@keys.command("list")
@workspace_option
@json_option
@running
async def list_(workspace: str | None, as_json: bool) -> None:
    """List keys. The keys themselves are not stored and cannot be shown again."""
    from leadwire.domain.accounts import reads

    found = await reads.listed(workspace and await the_workspace(workspace))
    print_list(found, _line, "No keys yet. Create one: leadwire keys create --name crm", as_json=as_json)


@keys.command()
@click.argument("key_id", metavar="ID")
@click.option("--overlap", type=click.Choice(list(_OVERLAPS)), default="24h", show_default=True)
@json_option
@running
async def roll(key_id: str, overlap: str, as_json: bool) -> None:
    """Create a new key with the same scopes. The old key works until the overlap has passed."""
    from leadwire.domain.accounts import changes

    new_id, key = await changes.roll_key(None, key_id, _OVERLAPS[overlap])
    report({"id": new_id, "key": key}, _SHOWN.format(key=key, id=new_id), as_json=as_json)


@keys.command()
@click.argument("key_id", metavar="ID")
@json_option
@running
async def revoke(key_id: str, as_json: bool) -> None:
    """Revoke a key. It stops working within 5 seconds."""
    from leadwire.domain.accounts import changes

    await changes.revoke_key(None, key_id)
    report({"id": key_id, "revoked": True}, f"{key_id} is revoked.", as_json=as_json)


def _line(key: "KeyListed") -> str:
    state = "revoked" if key.revoked_at else f"last used {key.last_used_at or 'never'}"
    return f"{key.id}  {key.starts_with}...  {key.name}  [{' '.join(key.scopes)}]  {state}"
