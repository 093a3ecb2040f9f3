"""Single sign-on: the way to a provider and back, and its call that a session has ended. Open to anybody."""

import logging
from typing import Final

from litestar import HttpMethod, Response, route
from litestar.handlers import HTTPRouteHandler

from leadwire.domain.accounts.changes import failed_sign_ins, sessions, sso_sign_in
from leadwire.domain.accounts.schema import Person
from leadwire.domain.accounts.sso import flow as flows
from leadwire.domain.accounts.sso import provider as providers
from leadwire.domain.accounts.sso.faults import SignOnRefused
from leadwire.infrastructure import telemetry
from leadwire.infrastructure.errors import DomainError, RateLimited
from leadwire.infrastructure.rate_limit import RateLimit
from leadwire.interfaces.http import requests
from leadwire.interfaces.http.middleware import set_workspace
from leadwire.interfaces.http.routes import get
from leadwire.interfaces.web import forms, security
from leadwire.interfaces.web.page_context import PageResponse, address, redirect, render_page
from leadwire.interfaces.web.public_pages import Asked, sent_form

FIND: Final = "/sign-in/sso"
_CALLS: Final = RateLimit("sso", 1200, window=300)  # for an address: a whole office may have one


@get(FIND)
async def find(request: Asked) -> PageResponse:
    """Asks for the e-mail address, which tells the provider."""
    onward = security.local(request.query_params.get("next", "/"))
    return render_page(request, "public/sso.html", {"onward": onward, "email": "", "found": None})


@route(FIND, http_method=HttpMethod.POST, status_code=200)
async def found(request: Asked) -> PageResponse:
    """Links to the providers. Links, because a form must not lead to another site."""
    form = await sent_form(request)
    onward, email = security.local(form.text("next") or "/"), form.text("email")
    values = {"onward": onward, "email": email, "found": await providers.for_email(email)}
    return render_page(request, "public/sso.html", values)


@route("/sso/{provider_id:str}", http_method=HttpMethod.GET)
async def begin(request: Asked) -> PageResponse:
    """On to the provider; also where a provider's own page of applications leads. With `confirm` to sign in anew."""
    await _count(request)
    provider = await _provider(request)
    onward, me = security.local(request.query_params.get("next", "/")), await _signed_in(request)
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
    security.set_flow(response, request, cookie, flows.PATIENCE)
    return response


@route("/sso/{provider_id:str}/callback", http_method=HttpMethod.GET)
async def come_back(request: Asked) -> PageResponse:
    """A new session, or one confirmed; or what was wrong."""
    await _count(request)
    provider, flow = await _provider(request), None
    try:
        pairs = requests.pairs_of(request.scope["query_string"])
        query = dict(pairs)
        if len(query) != len(pairs):
            raise SignOnRefused("malformed_answer", "a parameter comes twice")
        flow = flows.opened(security.flow(request), provider.id, query.get("state", ""))
        await sso_sign_in.use_once(provider, f"state {flow.state}")
        claims = await flows.finish(provider, flow, _callback(request, provider.id), query)
        response = redirect(flow.onward)
        if flow.session:
            me = await _signed_in(request)
            if me is None or me.session_id != flow.session:
                raise SignOnRefused("too_old")
            await sso_sign_in.confirm(provider, claims, me)
            await sessions.update(me.session_id, flash="Confirmed. If you came from another tab, continue there.")
        else:
            agent, mark = request.headers.get("user-agent", ""), security.browser_mark(request)
            token = await sso_sign_in.sign_in(provider, claims, address(request), agent, mark)
            await sessions.end(security.session_token(request))
            security.set_session(response, request, token)
            security.set_browser_mark(response, request)
    except DomainError as refusal:
        if flow:
            fault = getattr(refusal, "fault", refusal.code)
            failed_sign_ins.count(provider.workspace, provider.name, fault, address(request))
        response = _refused(request, provider.id, refusal)
    security.set_flow(response, request, "")
    return response


@route("/sso/{provider_id:str}/logout", http_method=HttpMethod.POST, status_code=200)
async def logged_out(request: Asked) -> Response[None]:
    """A provider tells that somebody has signed out there (OpenID Connect Back-Channel Logout 1.0)."""
    await _count(request)
    provider = await _provider(request)
    form = await forms.read(request)
    try:
        ended = await sso_sign_in.sign_out(provider, form.text("logout_token"))
    except SignOnRefused as refusal:
        _log(provider.id, refusal)
        raise
    telemetry.log("sso.logged_out", provider=provider.id, sessions=ended)
    return Response(None, status_code=200)


async def _provider(request: Asked) -> providers.Provider:
    provider = await providers.one(request.path_params["provider_id"].replace("\0", ""))
    set_workspace(provider.workspace)
    return provider


async def _signed_in(request: Asked) -> Person | None:
    return await sessions.person(security.session_token(request), address(request))


async def _count(request: Asked) -> None:
    if not await _CALLS.take_at_once(address(request)):
        raise RateLimited("Too many tries. Wait five minutes.", headers={"Retry-After": "300"})


def _callback(request: Asked, provider_id: str) -> str:
    return f"{security.public_url(request)}/sso/{provider_id}/callback"


def _refused(request: Asked, provider_id: str, refusal: DomainError) -> PageResponse:
    _log(provider_id, refusal)
    advice = getattr(refusal, "advice", "Begin again in a while, or tell an admin of your team.")
    values = {"refusal": refusal, "advice": advice, "provider": provider_id}
    return render_page(request, "public/sso_refused.html", values, refusal.status)


def _log(provider_id: str, refusal: DomainError) -> None:
    fault = getattr(refusal, "fault", refusal.code)
    telemetry.log("sso.refused", level=logging.WARNING, provider=provider_id, fault=fault)


OPEN: Final[list[HTTPRouteHandler]] = [find, found, begin, come_back, logged_out]
"""Pages that anybody may open."""
