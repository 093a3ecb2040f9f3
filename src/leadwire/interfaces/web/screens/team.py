"""The team: who has an account here, what they may do, and one-time links for those who come."""

from typing import Any, Final

from litestar import Response

from leadwire.domain.accounts import changes, reads
from leadwire.domain.accounts.changes import audit, invitations, second_factor
from leadwire.domain.accounts.schema import ROLES
from leadwire.interfaces.web.page_context import PageContext
from leadwire.interfaces.web.routes import action, screen

_MEANINGS: Final = {
    "viewer": "looks at everything but settings",
    "agent": "also answers visitors, edits and exports leads",
    "admin": "also keys, webhooks, bots, the team, and erasing people",
}


@screen("/team", role="admin")
async def team(context: PageContext) -> Response[str]:
    """Everybody with an account, and the links that are still open."""
    return await context.render(
        "team/list.html",
        people=await reads.team(context.workspace),
        open_links=await reads.invitations(context.workspace),
        roles=_MEANINGS,
    )


@action("/team", shown_on=team, confirmed=True)
async def invite(context: PageContext) -> Response[Any]:
    """A link for somebody new; shown on the page that answers, and nowhere else."""
    role, email = context.form.choice("role", ROLES, "Choose a role."), context.form.text("email")
    token = await invitations.invite(context.workspace, email, role, by=context.me.email, address=context.me.address)
    days = invitations.LIFE.days
    return await context.render("team/invited.html", 201, token=token, email=email, role=role, days=days)


@action("/team/links/{invitation_id:str}/withdraw", shown_on=team)
async def withdraw(context: PageContext) -> Response[Any]:
    """The link leads nowhere any more."""
    async with audit.transaction(context.me, "user.invitation_withdrawn") as entry:
        entry.subject = await invitations.withdraw(context.workspace, context.path_param("invitation_id"))
    return await context.redirect("/team", "The link is withdrawn.")


@action("/team/{user_id:str}/role", shown_on=team, confirmed=True)
async def change_role(context: PageContext) -> Response[Any]:
    """Somebody may do more, or less, from their next click on."""
    role = context.form.choice("role", ROLES, "Choose a role.")
    async with audit.transaction(context.me, "user.role_changed") as entry:
        entry.subject, before = await changes.change_role(context.workspace, context.path_param("user_id"), role)
        entry.detail = f"{before} to {role}"
    return await context.redirect("/team", f"{entry.subject} is {'an' if role[0] == 'a' else 'a'} {role} now.")


@action("/team/{user_id:str}/remove", shown_on=team)
async def remove(context: PageContext) -> Response[Any]:
    """Somebody's account ends, and every session of it."""
    async with audit.transaction(context.me, "user.removed") as entry:
        entry.subject = await changes.remove_user(context.workspace, context.path_param("user_id"))
    return await context.redirect("/team", f"{entry.subject} is signed out and has no account any more.")


@action("/team/{user_id:str}/second-factor/remove", shown_on=team, confirmed=True)
async def take_off_second_factor(context: PageContext) -> Response[Any]:
    """Somebody has lost their phone: their password is enough again."""
    async with audit.transaction(context.me, "user.second_factor_removed") as entry:
        entry.subject = await second_factor.remove(context.workspace, context.path_param("user_id"))
    return await context.redirect("/team", f"{entry.subject} signs in by password alone.")
