"""The team: who has an account here, what they may do, and one-time links for those who come."""

from typing import Any, Final

from litestar import Response

from leadwire.domain.accounts import audit, changes, invitations, reads, second_factor
from leadwire.domain.accounts.roles import ROLES, Role
from leadwire.infrastructure.errors import Fault, Invalid
from leadwire.interfaces.web.page_context import Visit
from leadwire.interfaces.web.routes import action, screen

_MEANINGS: Final = {
    "viewer": "looks at everything but settings",
    "agent": "also answers visitors, edits and exports leads",
    "admin": "also keys, webhooks, bots, the team, and erasing people",
}


@screen("/team", role="admin")
async def team(visit: Visit) -> Response[str]:
    """Everybody with an account, and the links that are still open."""
    return await visit.page(
        "team/list.html",
        people=await reads.team(visit.workspace),
        open_links=await invitations.listed(visit.workspace),
        roles=_MEANINGS,
    )


@action("/team", shown_on=team, confirmed=True)
async def invite(visit: Visit) -> Response[Any]:
    """A link for somebody new; shown on the page that answers, and nowhere else."""
    role, email = _role(visit), visit.form.text("email")
    token = await invitations.invite(visit.workspace, email, role, by=visit.me.email, address=visit.me.address)
    return await visit.page("team/invited.html", 201, token=token, email=email, role=role, days=invitations.LIFE.days)


@action("/team/links/{invitation_id:str}/withdraw", shown_on=team)
async def withdraw(visit: Visit) -> Response[Any]:
    """The link leads nowhere any more."""
    async with audit.act(visit.me, "user.invitation_withdrawn") as entry:
        entry.subject = await invitations.withdraw(visit.workspace, visit.part("invitation_id"))
    return await visit.back("/team", "The link is withdrawn.")


@action("/team/{user_id:str}/role", shown_on=team, confirmed=True)
async def change_role(visit: Visit) -> Response[Any]:
    """Somebody may do more, or less, from their next click on."""
    role = _role(visit)
    async with audit.act(visit.me, "user.role_changed") as entry:
        entry.subject, before = await changes.change_role(visit.workspace, visit.part("user_id"), role)
        entry.detail = f"{before} to {role}"
    return await visit.back("/team", f"{entry.subject} is {'an' if role[0] == 'a' else 'a'} {role} now.")


@action("/team/{user_id:str}/remove", shown_on=team)
async def remove(visit: Visit) -> Response[Any]:
    """Somebody's account ends, and every session of it."""
    async with audit.act(visit.me, "user.removed") as entry:
        entry.subject = await changes.remove_user(visit.workspace, visit.part("user_id"))
    return await visit.back("/team", f"{entry.subject} is signed out and has no account any more.")


@action("/team/{user_id:str}/second-factor/remove", shown_on=team, confirmed=True)
async def take_off_second_factor(visit: Visit) -> Response[Any]:
    """Somebody has lost their phone: their password is enough again."""
    async with audit.act(visit.me, "user.second_factor_removed") as entry:
        entry.subject = await second_factor.remove(visit.workspace, visit.part("user_id"))
    return await visit.back("/team", f"{entry.subject} signs in by password alone.")


def _role(visit: Visit) -> Role:
    role = visit.form.text("role")
    if role not in ROLES:
        raise Invalid("Choose a role.", faults=(Fault("unknown_value", "Choose one of these.", "/role"),))
    return role
