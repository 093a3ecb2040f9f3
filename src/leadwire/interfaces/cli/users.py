"""`leadwire users`: who may use the web area. A person comes in by a one-time link; nobody has a default password."""

import click

from leadwire.infrastructure import settings
from leadwire.infrastructure.errors import NotFound
from leadwire.interfaces.cli.runtime import json_option, running, show, tell, the_workspace, workspace_option

_ROLES = click.Choice(["admin", "agent", "viewer"])


@click.group()
def users() -> None:
    """People of the web area."""


@users.command()
@click.option("--email", help="Whom the link is for; without it, whoever opens it.")
@click.option("--role", type=_ROLES, default="admin", show_default=True)
@workspace_option
@json_option
@running
async def invite(email: str | None, role: str, workspace: str | None, as_json: bool) -> None:
    """Make a link that leads to an account, once, within three days."""
    from leadwire.domain.accounts.changes import invitations

    token = await invitations.invite(await the_workspace(workspace), email, role)  # type: ignore[arg-type]
    address = settings.get().public_url
    link = f"{address}/join/{token}"
    tell({"link": link, "role": role, "email": email}, f"  {link}", as_json=as_json)
    if not address:
        click.echo("  Put the address of your Leadwire in front, or set LEADWIRE_PUBLIC_URL.", err=True)


@users.command("list")
@workspace_option
@json_option
@running
async def list_(workspace: str | None, as_json: bool) -> None:
    """List everybody with an account."""
    from leadwire.domain.accounts import reads

    found = await reads.users(workspace and await the_workspace(workspace))
    if as_json:
        show(found)
        return
    for person in found:
        click.echo(f"{person.id}  {person.role:6}  {person.email}  {person.workspace_id}")
    if not found:
        click.echo("Nobody has an account. `leadwire users invite` makes a link.")


@users.command()
@click.argument("email")
@workspace_option
@json_option
@running
async def remove(email: str, workspace: str | None, as_json: bool) -> None:
    """End an account and its sessions. The last admin of a workspace stays."""
    from leadwire.domain.accounts import changes

    chosen, user_id = await _known(email, workspace)
    removed = await changes.remove_user(chosen, user_id)
    tell({"email": removed, "removed": True}, f"{removed} can no longer sign in.", as_json=as_json)


@users.command("reset-second-factor")
@click.argument("email")
@workspace_option
@json_option
@running
async def reset_second_factor(email: str, workspace: str | None, as_json: bool) -> None:
    """Let somebody who lost their phone sign in by password alone."""
    from leadwire.domain.accounts.changes import second_factor

    reset = await second_factor.remove(*await _known(email, workspace))
    tell({"email": reset, "second_factor": False}, f"{reset} signs in by password alone.", as_json=as_json)


async def _known(email: str, workspace: str | None) -> tuple[str, str]:
    """The workspace and the id of the user with this address. Raises NotFound."""
    from leadwire.domain.accounts import reads

    chosen = await the_workspace(workspace)
    for person in await reads.users(chosen):
        if person.email == email.strip().lower():
            return chosen, person.id
    raise NotFound(f"There is no user {email}.")
