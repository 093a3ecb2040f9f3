"""Settings of single sign-on: the workspace's providers, and whether anybody may still use a password."""

from typing import Final

from leadwire.domain.accounts.changes import sso
from leadwire.domain.accounts.schema import ROLES, Role
from leadwire.domain.accounts.sso import checks
from leadwire.domain.accounts.sso import provider as providers
from leadwire.infrastructure.errors import RateLimited
from leadwire.infrastructure.rate_limit import RateLimit
from leadwire.interfaces.web import security
from leadwire.interfaces.web.forms import wrong
from leadwire.interfaces.web.page_context import PageContext, PageResponse
from leadwire.interfaces.web.routes import action, screen

PATH: Final = "/single-sign-on"
_TESTS: Final = RateLimit("sso-test", 30, window=300)


@screen(PATH, role="admin")
async def listed(context: PageContext) -> PageResponse:
    """Every provider, the form for a new one, and what is enforced."""
    return await context.render(
        "sso/list.html",
        providers=await providers.listed(context.workspace),
        admins=await sso.admins(workspace=context.workspace),
        enforced=await sso.is_enforced(context.workspace),
    )


@action(PATH, shown_on=listed, confirmed=True, audit="sso.provider_added")
async def add(context: PageContext) -> PageResponse:
    context.entry.detail = context.form.text("issuer")
    name = context.form.required_name("Give the provider a name.")
    context.entry.subject = await sso.add(context.workspace, name, context.form.text("issuer"))
    return context.redirect(f"{PATH}/{context.entry.subject}")


@action("/single-sign-on-enforced", shown_on=listed, confirmed=True, audit="sso.enforced")
async def enforce(context: PageContext) -> PageResponse:
    """Passwords are off, and whoever is signed in by one is out."""
    await sso.enforce(context.workspace, context.me)
    return context.redirect(PATH, "Passwords are off, except for emergency accounts.")


@action("/single-sign-on-enforced/end", shown_on=listed, confirmed=True, audit="sso.passwords_allowed")
async def end_enforcement(context: PageContext) -> PageResponse:
    await sso.allow_passwords(context.workspace)
    return context.redirect(PATH, "Passwords are allowed again.")


@action("/single-sign-on-emergency/{user_id}", shown_on=listed, confirmed=True, audit="sso.emergency_account")
async def set_break_glass(context: PageContext, user_id: str) -> PageResponse:
    """An admin may sign in by password in any case, or not any more."""
    on = context.form.on("on")
    context.entry.subject = await sso.set_break_glass(context.workspace, user_id, on=on)
    context.entry.detail = "on" if on else "off"
    return context.redirect(PATH, f"{context.entry.subject} is {'an' if on else 'no'} emergency account{' now' * on}.")


@screen(PATH + "/{provider_id}", role="admin")
async def provider(context: PageContext, provider_id: str) -> PageResponse:
    """What to enter at the provider, and what we have to know of it."""
    return await _shown(context, provider_id)


@action(PATH + "/{provider_id}", shown_on=provider, confirmed=True, audit="sso.provider_changed")
async def configure(context: PageContext, provider_id: str) -> PageResponse:
    form = context.form
    role: Role | None = form.choice("default_role", ROLES, "Choose a role.") if form.text("default_role") else None
    setup = sso.Setup(
        name=form.text("name"),
        client_id=form.text("client_id"),
        client_secret=form.raw("client_secret"),
        domains=form.text("domains").replace(",", " ").split(),
        trusts_email=form.on("trusts_email"),
        default_role=role,
        role_claim=form.text("role_claim"),
        roles=dict(_mapped(line) for line in form.text("roles").splitlines() if line.strip()),
    )
    context.entry.detail = await sso.configure(context.workspace, provider_id, setup)
    return context.redirect(f"{PATH}/{provider_id}", "Saved. Test it before you tell your team.")


@action(PATH + "/{provider_id}/test", shown_on=provider)
async def test(context: PageContext, provider_id: str) -> PageResponse:
    """Each thing that can be tried out without a person, and what is wrong with it."""
    if not await _TESTS.take_at_once(context.workspace):
        raise RateLimited("Too many tests. Wait five minutes.", headers={"Retry-After": "300"})
    found = await providers.one(provider_id, context.workspace)
    callback = f"{security.public_url(context.request)}/sso/{provider_id}/callback"
    return await _shown(context, provider_id, await checks.run(found, callback))


@action(PATH + "/{provider_id}/remove", shown_on=provider, confirmed=True, audit="sso.provider_removed")
async def remove(context: PageContext, provider_id: str) -> PageResponse:
    context.entry.detail = await sso.remove(context.workspace, provider_id)
    return context.redirect(PATH, f"{context.entry.detail} is removed; who came from there is signed out.")


async def _shown(context: PageContext, provider_id: str, tested: list[checks.Check] | None = None) -> PageResponse:
    found = await providers.one(provider_id, context.workspace)
    return await context.render("sso/provider.html", provider=found, tested=tested or [], roles=ROLES)


def _mapped(line: str) -> tuple[str, Role]:
    value, _, role = line.rpartition("=")
    for known in ROLES:
        if value.strip() and role.strip() == known:
            return value.strip(), known
    raise wrong("roles", "wrong_value", "One a line: value = admin, agent or viewer.")
