"""`leadwire workspaces`: the customers of an installation."""

import re
import sys
from collections.abc import Container, Mapping
from pathlib import Path
from typing import get_args
from urllib.parse import urlsplit

import click

from leadwire.domain.accounts.schema import Quota
from leadwire.infrastructure import settings
from leadwire.infrastructure.errors import OperatorError
from leadwire.interfaces.cli.lazy import lazily
from leadwire.interfaces.cli.runtime import Result, command, join_link, listing, patiently

with lazily():
    from leadwire.domain.accounts import quotas
    from leadwire.domain.accounts import reads as accounts
    from leadwire.domain.accounts.sso import changes as single_sign_on
    from leadwire.domain.workspaces import changes, import_file, usage
    from leadwire.domain.workspaces import export as exports
    from leadwire.domain.workspaces import move as moves

_workspace = click.argument("workspace", metavar="ID")


def _backend(_context: click.Context, _parameter: click.Parameter, name: str | None) -> str | None:
    """Return the name of a backend of HAProxy. Raise click.BadParameter where it could not stand in a map."""
    if name is not None and not re.fullmatch(r"[\w.:-]+", name, re.ASCII):
        raise click.BadParameter(f"{name!r} is no name of a backend: it has letters, digits and . : _ - only")
    return name


workspaces = click.Group("workspaces", help="Customers: each has its own leads, bots, endpoints, keys and people.")


@command(workspaces)
@click.argument("name")
@click.option("--email", help="The only address the link is valid for; by default any.")
async def create(name: str, email: str | None) -> Result:
    """Create a workspace, and a link for the account of its first admin. It works once, for three days."""
    workspace, token = await changes.create(name, email)
    link = join_link(token)
    return Result({"id": workspace, "name": name, "link": link}, f"{workspace}\n\n  {link}")


@command(workspaces, "list")
async def list_() -> Result:
    """List workspaces, oldest first."""
    customers = await accounts.workspace_list()
    return listing(customers, lambda row: f"{row.id}  {row.state:13}  {row.name}", "No workspaces yet.")


@command(workspaces)
@_workspace
async def show(workspace: str) -> Result:
    """Show what a workspace has, and its quotas. Bytes are estimates; so are numbers with "about"."""
    customer = await usage.one(workspace)
    return Result(customer, _shown(customer))


@command(workspaces)
@_workspace
async def suspend(workspace: str) -> Result:
    """Close a workspace: API, web area and chats. Deliveries wait. Nothing is deleted."""
    changed = await changes.suspend(workspace)
    text = f"{workspace} is suspended. Its API keys are refused within 5 seconds."
    return Result({"id": workspace, "suspended": True, "changed": changed}, text)


@command(workspaces)
@_workspace
async def resume(workspace: str) -> Result:
    """Open a suspended workspace again. What waited is delivered."""
    changed = await changes.resume(workspace)
    return Result({"id": workspace, "suspended": False, "changed": changed}, f"{workspace} is open.")


@command(workspaces, "allow-passwords")
@_workspace
async def allow_passwords(workspace: str) -> Result:
    """Let people sign in by password again where single sign-on is enforced and its provider fails."""
    changed = await single_sign_on.allow_passwords(workspace, by_operator=True)
    text = f"{workspace}: passwords are allowed."
    return Result({"id": workspace, "sso_enforced": False, "changed": changed}, text)


@command(workspaces)
@_workspace
@click.argument("quota", type=click.Choice(get_args(Quota)))
@click.argument("most", type=click.IntRange(0, 2**31 - 1), required=False)
@click.option("--default", "is_default", is_flag=True, help="As the settings say, for all workspaces.")
async def quota(workspace: str, quota: Quota, most: int | None, is_default: bool) -> Result:
    """Give a workspace a quota of its own: at most MOST of something."""
    from leadwire.domain.accounts.changes import workspaces as rows

    if (most is None) != is_default:
        raise OperatorError("give either a number or --default")
    await rows.set_quota(workspace, quota, most)
    present = quotas.default(quota) if most is None else most
    return Result({"id": workspace, "quota": quota, "most": present}, f"{workspace} may have {present:,} {quota}.")


@command(workspaces)
@_workspace
@click.option("--clear", is_flag=True, help="Let people in from anywhere again.")
async def networks(workspace: str, clear: bool) -> Result:
    """Show from which networks the web area may be used. `--clear` is for whoever has locked themselves out."""
    from leadwire.domain.accounts.changes import workspaces as rows

    if clear:
        await rows.clear_networks(workspace)
    allowed = await rows.networks(workspace)
    return Result({"id": workspace, "networks": allowed}, "\n".join(allowed) or f"{workspace} is open from anywhere.")


@command(workspaces)
@_workspace
@click.option("--yes", metavar="NAME", help="The workspace's name, instead of being asked for it.")
async def delete(workspace: str, yes: str | None) -> Result:
    """Delete a workspace with everything that is in it. If this is interrupted, run it again: it goes on."""
    name = (await usage.one(workspace)).name
    if yes is None:
        if not sys.stdin.isatty():
            raise OperatorError(f"everything of {name} would be deleted. To do it, say --yes with its name.")
        yes = click.prompt(f"Everything of {name} will be deleted. Type its name", err=True)
    if yes != name:
        raise OperatorError(f"this is not the name of {workspace}: nothing was deleted")
    await changes.delete(workspace)
    return Result({"id": workspace, "deleted": True}, f"{workspace} is deleted.")


@command(workspaces, run=patiently)
@_workspace
@click.option("--to", "path", type=click.Path(path_type=Path, dir_okay=False), required=True, help="The file.")
async def export(workspace: str, path: Path) -> Result:
    """Write all that a workspace has, but no secrets, to a new file: a JSON document a line.

    The last line has the kind "end": a file without it is not complete.
    """
    name = (await usage.one(workspace)).name
    await exports.write(workspace, path)
    return Result({"id": workspace, "file": str(path)}, f"{name} is in {path}.")


@command(workspaces, "import", run=patiently)
@click.argument("path", metavar="FILE", type=click.Path(path_type=Path, dir_okay=False))
async def import_(path: Path) -> Result:
    """Make the workspace of an export, with the same ids. If this is interrupted, run it again: it goes on.

    No export has secrets: endpoints are disabled and have new ones, people choose a new password, and API keys,
    invitations and blocks of visitors have to be made again. What was still to be sent is canceled.
    """
    workspace, counts = await import_file.read(path)
    told = ", ".join(f"{counts[kind]:,} {kind}s" for kind in ("lead", "conversation", "event", "endpoint"))
    text = f"{workspace} is here: {told}. Endpoints are disabled and have new secrets; there are no API keys."
    return Result({"id": workspace, "rows": counts}, text)


@command(workspaces, run=patiently)
@_workspace
@click.option(
    "--from", "path", type=click.Path(path_type=Path, dir_okay=False), required=True,
    help="LEADWIRE_DATABASE_URL and LEADWIRE_SECRET_KEY of the other installation, a line each.",
)  # fmt: skip
@click.option("--cell", callback=_backend, help="Say the lines that lead its keys to this backend, as `map` does.")
async def move(workspace: str, path: Path, cell: str | None) -> Result:
    """Let a workspace come here from another installation, with its keys, secrets and what is still to be sent.

    It is copied while it goes on; at the end its changes are refused for some seconds. If this is interrupted, run it
    again: it goes on, or begins anew.
    """
    theirs = settings.read_file(path)
    if not (theirs.database_url and theirs.secret_key):
        raise OperatorError(f"{path} does not say LEADWIRE_DATABASE_URL and LEADWIRE_SECRET_KEY")
    moved = await moves.move(workspace, theirs.database_url, theirs.secret_key)
    told = ", ".join(f"{moved.rows[table]:,} {table}s" for table in ("lead", "conversation", "event"))
    lines = dict.fromkeys(await _readable({workspace}), cell) if cell else {}
    text = (
        f"{workspace} is here: {told}. Changes were refused for {moved.closed:.1f} s. Let the proxy send its keys here;"
        f" then, in the other installation: leadwire workspaces delete {workspace}\n{_map(lines)}"
    ).rstrip()
    document = {"id": workspace, "rows": moved.rows, "closed_seconds": moved.closed, "map": lines}
    return Result(document, text)


@command(workspaces, "map")
@click.argument("cell", callback=_backend)
@click.option("--hosts", is_flag=True, help="The host of LEADWIRE_PUBLIC_URL instead.")
async def map_(cell: str, hosts: bool) -> Result:
    """Write this installation's lines of a map for HAProxy: the readable part of each API key, and CELL, a backend.

    A proxy in front of several installations needs those of all.
    """
    if hosts:
        names = [urlsplit(settings.get().public_url).hostname or ""]
        if names == [""]:
            raise OperatorError("LEADWIRE_PUBLIC_URL is not set: it says which host leads to this installation")
    else:
        here = {
            customer.id for customer in await accounts.workspace_list() if customer.state not in ("moving", "moved")
        }
        names = await _readable(here)
    lines = dict.fromkeys(names, cell)
    return Result(lines, _map(lines))


async def _readable(of_workspaces: Container[str]) -> list[str]:
    """The readable parts of the API keys of these workspaces, sorted."""
    keys = [key for key in await accounts.listed() if not key.revoked_at and key.workspace_id in of_workspaces]
    return sorted(key.starts_with.split("_")[1] for key in keys)


def _map(lines: Mapping[str, str]) -> str:
    """As HAProxy reads it: what to look for, and the backend."""
    return "\n".join(f"{name} {cell}" for name, cell in lines.items())


def _shown(customer: "usage.Usage") -> str:
    state = f"moved to {customer.moved_to or 'another installation'}" if customer.state == "moved" else customer.state
    lines = [f"{customer.name}  {customer.id}  {state}, since {customer.created_at}", ""]
    for kind, amount in customer.amounts.items():
        lines.append(f"{kind:14} {amount!s:>20}  about {_size(amount.bytes)}")
    lines.append("")
    for name, used in customer.quotas.items():
        own = " (its own quota)" if used.own else ""
        lines.append(f"{name:14} {used.count:>20,}  of {used.most:,}{own}{'  NEAR ITS END' if used.near else ''}")
    return "\n".join(lines)


def _size(count: int) -> str:
    return f"{count / 1_000_000:,.1f} MB"
