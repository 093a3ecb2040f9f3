"""Single sign-on: the way to a provider and back, its call that a session has ended, and a workspace's settings."""

from typing import Final

from litestar import HttpMethod, Response, route
from msgspec import UNSET

from leadwire.domain.accounts.domains import changes as domain_changes
from leadwire.domain.accounts.domains import reads as domains
from leadwire.domain.accounts.schema import ROLES
from leadwire.domain.accounts.sign_in import tries
from leadwire.domain.accounts.sign_in.changes import sessions
from leadwire.domain.accounts.sso import changes, checks, reads
from leadwire.domain.accounts.sso import flow as flows
from leadwire.domain.accounts.sso.changes import sign_in as sso
from leadwire.domain.accounts.sso.faults import SignOnRefused
from leadwire.infrastructure import clock, telemetry
from leadwire.infrastructure.errors import DomainError
from leadwire.infrastructure.rate_limit import RateLimit
from leadwire.interfaces.http import requests
from leadwire.interfaces.http.client_network import network
from leadwire.interfaces.http.middleware import set_workspace
from leadwire.interfaces.http.routes import post
from leadwire.interfaces.web import forms, security
from leadwire.interfaces.web.page_context import PageContext, PageResponse, redirect, render_page
from leadwire.interfaces.web.public_pages import Asked, Visit, browser, go_on, open_form, open_page, signed_in
from leadwire.interfaces.web.routes import Values, action, screen

FIND: Final = "/sign-in/sso"
PATH: Final = "/single-sign-on"
DOMAINS: Final = "/single-sign-on-domains"
_CALLS: Final = RateLimit("sso", 1200, window=300)  # for an address: a whole office may have one
_TESTS: Final = RateLimit("sso-test", 30, window=300)
_CHECKS: Final = RateLimit("domain-check", 30, window=300)


@open_page(FIND)
async def find(visit: Visit) -> PageResponse:
    """Asks for the e-mail address, which tells the provider."""
    return visit.render("public/sso.html", onward=visit.onward, email="", found=None)


@open_form(FIND, shown_on=find.body)
async def found(visit: Visit) -> PageResponse:
    """Links to the providers. Links, because a form must not lead to another site."""
    email = visit.form.text("email")
    return visit.render("public/sso.html", onward=visit.onward, email=email, found=await reads.for_email(email))


@route("/sso/{provider_id:str}", http_method=HttpMethod.GET)
async def begin(request: Asked) -> PageResponse:
    """On to the provider; also where a provider's own page of applications leads. With `confirm` to sign in anew."""
    provider = await _provider(request)
    onward, me = security.local(request.query_params.get("next", "/")), await signed_in(request)
    session = me.session_id if me and me.provider == provider.id and "confirm" in request.query_params else ""
    if me and not session and request.headers.get("sec-fetch-site") == "cross-site":
        # Another site must not turn the person here into somebody else: they are asked.
        values = {"onward": onward, "email": "", "found": [(provider.id, provider.name)]}
        return render_page(request, "public/sso.html", values)
    try:
        to, cookie = await flows.begin(provider, _callback(request, provider.id), onward, session)
    except SignOnRefused as refusal:
        return _refused(request, provider.id, refusal)
    response = Response(None, status_code=303, headers={"Location": to})
    security.SIGN_ON.write(response, request, cookie, flows.PATIENCE)
    return response


@route("/sso/{provider_id:str}/callback", http_method=HttpMethod.GET)
async def come_back(request: Asked) -> PageResponse:
    """A new session, or one confirmed; or what was wrong."""
    provider, flow = await _provider(request), None
    try:
        pairs = requests.pairs_of(request.scope["query_string"])
        query = dict(pairs)
        if len(query) != len(pairs):
            raise SignOnRefused("malformed_answer", "a parameter comes twice")
        flow = flows.opened(security.SIGN_ON.read(request), provider.id, query.get("state", ""))
        await sso.use_once(provider, f"state {flow.state}")
        claims = await flows.finish(provider, flow, _callback(request, provider.id), query)
        if flow.session:
            me = await signed_in(request)
            if me is None or me.session_id != flow.session:
                raise SignOnRefused("too_old")
            await sso.confirm(provider, claims, me)
            response: PageResponse = redirect(flow.onward)
            await sessions.update(me.session_id, flash="Confirmed. If you came from another tab, continue there.")
        else:
            response = await go_on(request, await sso.sign_in(provider, claims, browser(request)), flow.onward)
    except DomainError as refusal:
        if flow:
            fault = getattr(refusal, "fault", refusal.code)
            tries.failed([provider.workspace], provider.name, fault, network(request.scope))
        response = _refused(request, provider.id, refusal)
    security.SIGN_ON.write(response, request, "")
    return response


@post("/sso/{provider_id:str}/logout")
async def logged_out(request: Asked) -> Response[None]:
    """A provider tells that somebody has signed out there (OpenID Connect Back-Channel Logout 1.0)."""
    provider = await _provider(request)
    form = await forms.read(request)
    try:
        ended = await sso.sign_out(provider, form.text("logout_token"))
    except SignOnRefused as refusal:
        telemetry.warn("sso.refused", provider=provider.id, fault=refusal.fault)
        raise
    telemetry.log("sso.logged_out", provider=provider.id, sessions=ended)
    return Response(None, status_code=200)


@screen(PATH, "sso/list.html", role="admin")
async def listed(context: PageContext) -> Values:
    """Every provider, the form for a new one, and what is enforced."""
    return {
        "providers": await reads.listed(context.workspace),
        "domains": await domains.listed(context.workspace),
        "now": clock.now(),
        "admins": await reads.admins(context.workspace),
        "enforced": await reads.is_enforced(context.workspace),
    }


@action(PATH, shown_on=listed, confirmed=True, audit="sso.provider_added")
async def add(context: PageContext) -> PageResponse:
    context.entry.detail = context.form.text("issuer")
    name = context.form.required_name("Give the provider a name.")
    context.entry.subject = await changes.add(context.workspace, name, context.form.text("issuer"))
    return context.redirect(f"{PATH}/{context.entry.subject}")


@action("/single-sign-on-enforced", shown_on=listed, confirmed=True, audit="sso.enforced")
async def enforce(context: PageContext) -> str:
    """Passwords are off, and whoever is signed in by one is out."""
    await changes.enforce(context.workspace, context.me)
    return "Passwords are off, except for emergency accounts."


@action("/single-sign-on-enforced/end", shown_on=listed, confirmed=True, audit="sso.passwords_allowed")
async def end_enforcement(context: PageContext) -> str:
    await changes.allow_passwords(context.workspace)
    return "Passwords are allowed again."


@action("/single-sign-on-emergency/{user_id}", shown_on=listed, confirmed=True, audit="sso.emergency_account")
async def set_break_glass(context: PageContext, user_id: str) -> str:
    """An admin may sign in by password in any case, or not any more."""
    on = context.form.on("on")
    context.entry.subject = await changes.set_break_glass(context.workspace, user_id, on=on)
    context.entry.detail = "on" if on else "off"
    return f"{context.entry.subject} is {'an' if on else 'no'} emergency account{' now' * on}."


@screen(PATH + "/{provider_id}", "sso/provider.html", role="admin")
async def provider(context: PageContext, provider_id: str) -> Values:
    """What to enter at the provider, and what we have to know of it."""
    return {"provider": await reads.one(provider_id, context.workspace), "tested": [], "roles": ROLES}


@action(PATH + "/{provider_id}", shown_on=provider, confirmed=True, audit="sso.provider_changed")
async def configure(context: PageContext, provider_id: str) -> str:
    form = context.form
    setup = changes.Setup(
        **form.given(form.text, "name", "client_id", "role_claim"),
        **form.given(form.raw, "client_secret"),
        trusts_email=form.on("trusts_email") if form.has("domains") else UNSET,  # every page with one has had both
        **form.given(lambda name: form.text(name).replace(",", " ").split(), "domains"),
        **form.given(lambda name: changes.roles(form.text(name)), "roles"),
        **form.given(lambda name: form.choice(name, ("", *ROLES), "Choose a role.") or None, "default_role"),
    )
    context.entry.detail = await changes.configure(context.workspace, provider_id, setup, form.text("seen"))
    return "Saved. Test it before you tell your team."


@action(PATH + "/{provider_id}/test", shown_on=provider)
async def test(context: PageContext, provider_id: str) -> PageResponse:
    """Each thing that can be tried out without a person, and what is wrong with it."""
    await _TESTS.claim(context.workspace, "Too many tests. Wait five minutes.")
    provider = await reads.one(provider_id, context.workspace)
    tested = await checks.run(provider, _callback(context.request, provider_id))
    return await context.render("sso/provider.html", provider=provider, tested=tested, roles=ROLES)


@action(PATH + "/{provider_id}/remove", shown_on=provider, confirmed=True, audit="sso.provider_removed")
async def remove(context: PageContext, provider_id: str) -> PageResponse:
    context.entry.detail = await changes.remove(context.workspace, provider_id)
    return context.redirect(PATH, f"{context.entry.detail} is removed; who came from there is signed out.")


@action(DOMAINS, shown_on=listed, audit="domain.added")
async def add_domain(context: PageContext) -> str:
    context.entry.subject = await domain_changes.add(context.workspace, context.form.text("domain"))
    return f"{context.entry.subject} is added. Publish its record, then check it."


@action(DOMAINS + "/{domain_id}/check", shown_on=listed)
async def check_domain(context: PageContext, domain_id: str) -> str:
    """Asks the resolver, so what it finds is noted by the change itself."""
    await _CHECKS.claim(context.workspace, "Too many checks. Wait five minutes.")
    domain = await domain_changes.check(context.workspace, domain_id, context.me.email)
    return f"{domain.name} is proven." if domain.state(clock.now()) == "proven" else domain.words


@action(DOMAINS + "/{domain_id}/remove", shown_on=listed, confirmed=True, audit="domain.removed")
async def remove_domain(context: PageContext, domain_id: str) -> str:
    context.entry.subject = await domain_changes.remove(context.workspace, domain_id)
    return f"{context.entry.subject} is removed."


async def _provider(request: Asked) -> reads.Provider:
    """The provider in the path. Raise NotFound, and RateLimited after many requests from one address."""
    await _CALLS.claim(network(request.scope), "Too many tries. Wait five minutes.")
    provider = await reads.one(request.path_params["provider_id"].replace("\0", ""))
    set_workspace(provider.workspace)
    return provider


def _callback(request: Asked, provider_id: str) -> str:
    return f"{security.public_url(request)}/sso/{provider_id}/callback"


def _refused(request: Asked, provider_id: str, refusal: DomainError) -> PageResponse:
    telemetry.warn("sso.refused", provider=provider_id, fault=getattr(refusal, "fault", refusal.code))
    advice = getattr(refusal, "advice", "Begin again in a while, or tell an admin of your team.")
    values = {"advice": advice, "provider": provider_id}
    return render_page(request, "public/sso_refused.html", values, refusal=refusal)
