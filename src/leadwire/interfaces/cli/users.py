"""`leadwire users`: accounts of the web area. They begin with a one-time link; there are no default passwords."""

import click

from leadwire.infrastructure.errors import Conflict, NotFound
from leadwire.interfaces.cli.lazy import lazily
from leadwire.interfaces.cli.runtime import (
    Result,
    audited,
    command,
    join_link,
    listing,
    the_workspace,
    workspace_option,
)

with lazily():
    from leadwire.domain.accounts import reads
    from leadwire.infrastructure import email_address

_ROLES = click.Choice(["admin", "agent", "viewer"])


users = click.Group("users", help="Accounts of the web area.")


@command(users)
@click.option("--email", help="The only address the link is valid for; by default any.")
@click.option("--role", type=_ROLES, default="admin", show_default=True)
@click.option("--operator", is_flag=True, help="They see all workspaces, if they are an admin.")
@workspace_option
async def invite(email: str | None, role: str, operator: bool, workspace: str | None) -> Result:
    """Create a link for a new account. It works once, for three days."""
    from leadwire.domain.accounts.changes import team

    token = await team.invite(await the_workspace(workspace), email, role, operator=operator)  # type: ignore[arg-type]
    link = join_link(token)
    return Result({"link": link, "role": role, "email": email}, f"  {link}")


@command(users, "list")
@workspace_option
async def list_(workspace: str | None) -> Result:
    """List accounts."""
    people = await reads.users(workspace and await the_workspace(workspace))
    return listing(
        people,
        lambda user: f"{user.id}  {user.role:6}  {user.email}  {user.workspace_id}{'  operator' * user.operator}",
        "No accounts yet. Create a link for one: leadwire users invite",
    )


@command(users)
@click.argument("email")
@workspace_option
async def remove(email: str, workspace: str | None) -> Result:
    """Remove an account and its sessions. The last admin of a workspace cannot be removed."""
    from leadwire.domain.accounts.changes import team
    from leadwire.domain.conversations.changes import inbox  # noqa: F401 - what they had goes back to the queue

    owner, user_id = await _user(email, workspace)
    async with audited("user.removed", workspace=owner) as entry:
        entry.subject = removed = await team.remove_user(owner, user_id)
    return Result({"email": removed, "removed": True}, f"{removed} can no longer sign in.")


@command(users)
@click.argument("email")
@click.option("--revoke", is_flag=True, help="They are none any more.")
@workspace_option
async def operator(email: str, revoke: bool, workspace: str | None) -> Result:
    """Let an admin see all workspaces, in the web area under System."""
    from leadwire.domain.accounts.changes import team

    owner, user_id = await _user(email, workspace)
    async with audited("user.operator_revoked" if revoke else "user.operator_made", workspace=owner) as entry:
        entry.subject = changed = await team.set_operator(owner, user_id, operator=not revoke)
    text = f"{changed} sees {'no other workspace any more' if revoke else 'all workspaces'}."
    return Result({"email": changed, "operator": not revoke}, text)


@command(users, "reset-second-factor")
@click.argument("email")
@workspace_option
async def reset_second_factor(email: str, workspace: str | None) -> Result:
    """Remove the second factor of somebody who has lost it."""
    from leadwire.domain.accounts.sign_in.changes import second_factor

    owner, user_id = await _user(email, workspace)
    async with audited("user.second_factor_removed", workspace=owner) as entry:
        entry.subject, entry.login_id = await second_factor.remove(owner, user_id, by_operator=True)
    return Result({"email": entry.subject, "second_factor": False}, f"{entry.subject} signs in with the password only.")


@command(users, "sign-out")
@click.argument("email")
@workspace_option
async def sign_out(email: str, workspace: str | None) -> Result:
    """End every session of somebody, in other workspaces, too. They can sign in again."""
    from leadwire.domain.accounts.sign_in.changes import sessions

    owner, user_id = await _user(email, workspace)
    async with audited("user.signed_out", email, workspace=owner) as entry:
        ended, entry.login_id = await sessions.end_of(user_id)
    return Result({"email": email, "ended": ended}, f"{ended} sessions of {email} have ended.")


async def _user(email: str, workspace: str | None) -> tuple[str, str]:
    """Return the workspace and the id of the account with this address. Raise NotFound; Conflict for several."""
    people = await reads.users(workspace and await the_workspace(workspace))
    accounts = [(person.workspace_id, person.id) for person in people if person.email == email_address.normal(email)]
    if len(accounts) > 1:
        raise Conflict(f"{email} has an account in several workspaces: say which with --workspace.")
    if not accounts:
        raise NotFound(f"There is no user {email}.")
    return accounts[0]
