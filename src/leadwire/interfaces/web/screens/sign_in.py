"""Coming in and going out: sign in, the one-time link to an account, giving the password again, sign out."""

from typing import Any, Final

from litestar import HttpMethod, Request, Response, route
from litestar.handlers import HTTPRouteHandler

from leadwire.domain.accounts import reads
from leadwire.domain.accounts.changes import invitations, sessions
from leadwire.domain.accounts.changes import sign_in as accounts
from leadwire.domain.accounts.changes.second_factor import Ticket
from leadwire.infrastructure.errors import DomainError, Forbidden, NotFound
from leadwire.interfaces.http.routes import get
from leadwire.interfaces.web import forms, security
from leadwire.interfaces.web.page_context import PageContext, address, redirect, render_page
from leadwire.interfaces.web.routes import CODE, CONFIRM, SIGN_IN, action, screen

Asked = Request[Any, Any, Any]


@get(SIGN_IN)
async def sign_in(request: Asked) -> Response[Any]:
    """The form. Who is signed in already goes on."""
    onward = security.local(request.query_params.get("next", "/"))
    if await sessions.person(security.session_token(request), address(request)):
        return redirect(onward)
    return _form(request, "door/sign_in.html", onward=onward, email="")


@route(SIGN_IN, http_method=HttpMethod.POST, status_code=200)
async def signed_in(request: Asked) -> Response[Any]:
    """A new session, or the question for a code."""
    form = await _sent(request)
    onward, email = security.local(form.text("next") or "/"), form.text("email")
    try:
        token = await accounts.sign_in(email, form.raw("password"), *_browser(request))
    except DomainError as refusal:
        return _form(request, "door/sign_in.html", refusal, onward=onward, email=email)
    if isinstance(token, Ticket):
        return _form(request, "door/code.html", onward=onward, ticket=token)
    return await _signed_in(request, token, onward)


@route(CODE, http_method=HttpMethod.POST, status_code=200)
async def code_given(request: Asked) -> Response[Any]:
    """A new session, after the password and the code."""
    form = await _sent(request)
    onward, ticket = security.local(form.text("next") or "/"), form.text("ticket")
    try:
        token = await accounts.give_code(ticket, form.text("code"), *_browser(request))
    except DomainError as refusal:
        return _form(request, "door/code.html", refusal, onward=onward, ticket=ticket)
    return await _signed_in(request, token, onward)


@get("/join/{token:str}")
async def join(request: Asked) -> Response[Any]:
    """What a one-time link leads to."""
    return await _join_form(request)


@route("/join/{token:str}", http_method=HttpMethod.POST, status_code=200)
async def joined(request: Asked) -> Response[Any]:
    """The account is made, its owner signed in."""
    form, (seen, browser) = await _sent(request), _browser(request)
    try:
        user_id = await invitations.accept(request.path_params["token"], form.text("email"), form.raw("password"), seen)
    except NotFound:
        raise
    except DomainError as refusal:
        return await _join_form(request, form.text("email"), refusal)
    return _let_in(request, await sessions.begin(user_id, seen, browser), "/")


@screen(CONFIRM)
async def confirm(context: PageContext) -> Response[str]:
    """Asks for the password again: something secret is about to be shown."""
    onward = security.local(context.form.text("next") or context.query.text("next") or "/")
    return await context.render(
        "door/confirm.html", action=CONFIRM, held=[("next", onward)], field="password", onward=onward
    )


@action(CONFIRM, role="viewer", shown_on=confirm)
async def confirmed(context: PageContext) -> Response[Any]:
    """The password was right: back to where it was asked for."""
    await accounts.confirm(context.me, context.form.raw("password"))
    return redirect(security.local(context.form.text("next") or "/"))


@action("/sign-out", role="viewer")
async def sign_out(context: PageContext) -> Response[Any]:
    """The session ends here and in the database."""
    await sessions.end(security.session_token(context.request))
    response = redirect(SIGN_IN)
    security.set_session(response, context.request, "")
    return response


async def _join_form(request: Asked, email: str = "", refusal: DomainError | None = None) -> Response[str]:
    offer = await reads.offer(request.path_params["token"])
    return _form(request, "door/join.html", refusal, offer=offer, email=email)


def _form(request: Asked, template: str, refusal: DomainError | None = None, **values: object) -> Response[str]:
    """A page for who is not signed in; after a refusal it has the refusal's status and headers."""
    page = render_page(request, template, {"refusal": refusal, **values}, refusal.status if refusal else 200)
    page.headers.update(refusal.headers if refusal else {})
    return page


async def _signed_in(request: Asked, token: str, onward: str) -> Response[Any]:
    """Always under a new token; the session that the browser brought along ends."""
    await sessions.end(security.session_token(request))
    return _let_in(request, token, onward)


def _browser(request: Asked) -> tuple[str, str]:
    """Return the network that the request comes from, and the name that the browser gives itself."""
    return address(request), request.headers.get("user-agent", "")


def _let_in(request: Asked, token: str, onward: str) -> Response[Any]:
    response = redirect(onward)
    security.set_session(response, request, token)
    return response


async def _sent(request: Asked) -> forms.Form:
    """Return the form that was sent. Raise Forbidden when another site sent it."""
    if not security.same_origin(request.headers):
        raise Forbidden("This request came from another site.")
    return await forms.read(request)


OPEN: Final[list[HTTPRouteHandler]] = [sign_in, signed_in, code_given, join, joined]
"""The only pages that anybody may open."""
