"""The people of a workspace, the links by which others join, and the networks that they may come from."""

from leadwire.domain.accounts import networks, reads
from leadwire.domain.accounts.changes import team as changes
from leadwire.domain.accounts.changes import workspaces
from leadwire.domain.accounts.schema import ROLES
from leadwire.domain.accounts.sign_in.changes import second_factor
from leadwire.domain.mail import changes as mail_changes
from leadwire.domain.mail import reads as mail
from leadwire.interfaces.http import client_network
from leadwire.interfaces.web.routes import PageContext, PageResponse, Values, action, screen
from leadwire.interfaces.web.screens import account


@screen("/team", "team/list.html", role="admin")
async def team(context: PageContext) -> Values:
    """Everybody with an account, and the links that are still open."""
    people, links = await reads.team(workspace=context.workspace), await reads.invitations(context.workspace)
    return {"people": people, "open_links": links, "refused": await mail.suppressed(context.workspace)}


@action("/team", shown_on=team, confirmed=True)
async def invite(context: PageContext) -> PageResponse:
    """A link for somebody new. Who opens it proves the address: it is mailed, or, without mail, shown once."""
    role, email = context.form.choice("role", ROLES, "Choose a role."), context.form.text("email")
    token = await changes.invite(context.workspace, email, role, by=context.me.email, address=context.me.address)
    mailed, visible_token = await mail.reaches(context.workspace, email), "" if mail.enabled() else token
    days = changes.LIFE.days
    return await context.render(
        "team/invited.html", 201, token=visible_token, email=email, role=role, days=days, mailed=mailed
    )


@action("/team/links/{invitation_id}/withdraw", shown_on=team, audit="user.invitation_withdrawn")
async def withdraw(context: PageContext, invitation_id: str) -> str:
    context.entry.subject = await changes.withdraw(context.workspace, invitation_id)
    return "The link is withdrawn."


@action("/team/{user_id}/role", shown_on=team, confirmed=True, audit="user.role_changed")
async def change_role(context: PageContext, user_id: str) -> str:
    """Somebody may do more, or less, from their next click on."""
    role = context.form.choice("role", ROLES, "Choose a role.")
    context.entry.subject, before = await changes.change_role(context.workspace, user_id, role, context.me.user_id)
    context.entry.detail = f"role: {before} -> {role}"
    return f"{context.entry.subject} is {'an' if role[0] == 'a' else 'a'} {role} now."


@action("/team/{user_id}/remove", shown_on=team, confirmed=True, audit="user.removed")
async def remove_user(context: PageContext, user_id: str) -> str:
    context.entry.subject = await changes.remove_user(context.workspace, user_id, context.me.user_id)
    return f"{context.entry.subject} is signed out and has no account any more."


@action("/team/{user_id}/second-factor/remove", shown_on=team, confirmed=True, audit="user.second_factor_removed")
async def take_off_second_factor(context: PageContext, user_id: str) -> str:
    """Somebody has lost their phone: their password is enough again."""
    context.entry.subject, _ = await second_factor.remove(context.workspace, user_id)
    return f"{context.entry.subject} signs in by password alone."


@action("/team/mail/lift", shown_on=team, audit="mail.suppression_lifted")
async def lift(context: PageContext) -> str:
    await mail_changes.lift(context.workspace, context.form.text("address"))  # a visitor's must not live on in the log
    return "Mail goes to that address again."


@screen("/team/networks", "team/networks.html", role="admin")
async def allowed(context: PageContext) -> Values:
    """The networks, and the form for others."""
    return {"allowed": context.me.networks, "address": client_network.address(context.request.scope)}


@action("/team/networks", shown_on=allowed, confirmed=True, audit="workspace.networks_changed")
async def save(context: PageContext) -> str:
    """From the next request on, sessions that exist included."""
    entries, present = networks.split(context.form.text("networks")), client_network.address(context.request.scope)
    now = await workspaces.set_networks(context.workspace, entries, present, context.form.text("seen"))
    context.entry.subject = context.workspace
    context.entry.detail = f"networks: {' '.join(context.me.networks) or 'any'} -> {' '.join(now) or 'any'}"
    return "Saved. Whoever is elsewhere is refused from now on." if now else "Saved. People may come in from anywhere."


@action("/account/name", role="viewer", shown_on=account.account, audit="user.renamed")
async def rename(context: PageContext) -> str:
    context.entry.subject = context.me.user_id
    name = await changes.rename(context.workspace, context.me.user_id, context.form.text("name"))
    context.entry.detail = name or ""
    return f"You are {name} here." if name else "You go by your address."
