"""Sign in, sign out, the one-time link to an account, confirming that it is you; and one's own account."""

from collections.abc import Awaitable
from typing import Final

import segno
from litestar import HttpMethod, route
from litestar.handlers import HTTPRouteHandler
from markupsafe import Markup

from leadwire.domain.accounts import networks, reads
from leadwire.domain.accounts.changes import team
from leadwire.domain.accounts.sign_in import changes as accounts
from leadwire.domain.accounts.sign_in.changes import passkeys, second_factor, sessions
from leadwire.domain.notices import reads as notices
from leadwire.infrastructure.errors import Conflict, DomainError, NotFound
from leadwire.interfaces.http import client_network
from leadwire.interfaces.http.routes import get
from leadwire.interfaces.web import public_pages as public
from leadwire.interfaces.web import routes, security
from leadwire.interfaces.web.forms import Form, parsed
from leadwire.interfaces.web.page_context import PageContext, PageResponse, redirect
from leadwire.interfaces.web.routes import action, check_again, screen


@get(routes.SIGN_IN)
async def sign_in(request: public.Asked) -> PageResponse:
    """The form. Who is signed in already goes on, unless they have an invitation."""
    query, me = parsed(request.scope["query_string"]), await public.signed_in(request)
    if not query.text("join") and me and networks.allow(client_network.address(request.scope), me.networks):
        return redirect(_onward(query))
    return await _sign_in_form(request, query)


@route(routes.SIGN_IN, http_method=HttpMethod.POST, status_code=200)
async def signed_in(request: public.Asked) -> PageResponse:
    """A new session, or the question for the second factor."""
    form = await public.sent_form(request)
    login = form.raw("password"), public.browser(request), form.text("join")
    try:
        token, code_wanted = await accounts.sign_in(form.text("email"), *login)
    except DomainError as refusal:
        return await _sign_in_form(request, form, refusal)
    return _code_form(request, form, token) if code_wanted else await public.go_on(request, token, _onward(form))


@route(routes.CODE, http_method=HttpMethod.POST, status_code=200)
async def code_given(request: public.Asked) -> PageResponse:
    """A new session, after the password and the code."""
    form = await public.sent_form(request)
    code = form.text("ticket"), form.text("code")
    return await _finish(request, form, accounts.give_code(*code, public.browser(request), form.text("join")))


@get(routes.PASSKEY)
async def challenge(request: public.Asked) -> PageResponse:
    """What the browser needs to ask the device for a passkey."""
    return public.options_response(request, *passkeys.request_options(public.site(request)))


@route(routes.PASSKEY, http_method=HttpMethod.POST, status_code=200)
async def passkey_given(request: public.Asked) -> PageResponse:
    """A new session, by a passkey alone or after the password."""
    form = await public.sent_form(request)
    answer = public.answer(request, form.raw(public.CREDENTIAL)), form.text("ticket")
    return await _finish(request, form, accounts.give_passkey(*answer, public.browser(request), form.text("join")))


@get("/join/{token:str}")
async def join(request: public.Asked) -> PageResponse:
    """What a one-time link leads to."""
    return await _join_form(request)


@route("/join/{token:str}", http_method=HttpMethod.POST, status_code=200)
async def joined(request: public.Asked) -> PageResponse:
    """The account is made, its owner signed in."""
    form, offered = await public.sent_form(request), request.path_params["token"]
    login = form.raw("password"), public.browser(request), form.text("name")
    try:
        token = await team.accept(offered, form.text("email"), *login)
    except NotFound:
        raise
    except DomainError as refusal:
        return await _join_form(request, refusal, email=form.text("email"), name=form.text("name"))
    return await public.go_on(request, token, "/")


@screen(routes.CONFIRM)
async def confirm(context: PageContext) -> PageResponse:
    """Asks for the password or a passkey again: something secret is about to be shown."""
    onward = security.local(context.form.text("next") or context.query.text("next") or "/")
    return await context.render(
        "confirm.html", action=routes.CONFIRM, held=[("next", onward)], field="password", onward=onward
    )


@action(routes.CONFIRM, role="viewer", shown_on=confirm)
async def confirmed(context: PageContext) -> PageResponse:
    """Back to where it was asked for."""
    await check_again(context, context.form.raw("password"), context.form.raw(public.CREDENTIAL))
    return redirect(security.local(context.form.text("next") or "/"))


@action("/sign-out", role="viewer")
async def sign_out(context: PageContext) -> PageResponse:
    """The session ends here and in the database."""
    return await public.go_on(context.request, "", routes.SIGN_IN)


@screen("/account")
async def account(context: PageContext) -> PageResponse:
    """Signed-in browsers, the ways to sign in, what to be told of, and the form for another password."""
    return await context.render(
        "account.html",
        sessions=await reads.sessions(context.me),
        passkeys=await reads.passkeys(context.me.login_id),
        factors=await reads.factors(context.me.login_id),
        notices=await notices.shown(context.me),
    )


@action("/account/workspaces/{user_id}", role="viewer", shown_on=account)
async def switch(context: PageContext, user_id: str) -> PageResponse:
    """On in another workspace, under another session."""
    return await public.go_on(context.request, await sessions.switch(context.me, user_id), "/")


@action("/account/password", role="viewer", shown_on=account)
async def change_password(context: PageContext) -> str:
    await accounts.change_password(context.me, context.form.raw("present"), context.form.raw("password"))
    return "Your password is changed, and every other browser signed out."


@action("/account/sessions/{session_id}/end", role="viewer", shown_on=account, confirmed=True, audit="session.ended")
async def end_session(context: PageContext, session_id: str) -> str:
    await sessions.end_one(context.me, session_id)
    return "That browser is signed out."


@screen(routes.SECOND_FACTOR, confirmed=True)
async def set_up(context: PageContext) -> PageResponse:
    """A secret for an authenticator app. It is kept once a code shows that the app has it."""
    secret, offer = second_factor.offer(_login(context), context.form.text("offer"))
    code = segno.make(second_factor.uri(secret, context.me.email), error="m")
    # Within the page: no file and no address holds the secret.
    picture = Markup(code.svg_inline(scale=4, light="#fff"))  # noqa: S704
    return await context.render("second_factor.html", secret=secret, offer=offer, picture=picture)


@action(routes.SECOND_FACTOR, role="viewer", shown_on=set_up, confirmed=True)
async def switch_on(context: PageContext) -> PageResponse:
    """From the next time on a code is asked for; every other browser is signed out."""
    await second_factor.add(context.me, context.form.text("offer"), context.form.text("code"))
    return context.redirect(
        "/account", "The second factor is on, and every other browser signed out. Make recovery codes."
    )


@action(
    "/account/second-factor/remove", role="viewer", shown_on=account, confirmed=True, audit="user.second_factor_removed"
)
async def switch_off(context: PageContext) -> str:
    context.entry.subject = context.me.user_id
    await second_factor.remove_app(_login(context))
    return "The authenticator app is off."


@screen(routes.PASSKEYS, confirmed=True)
async def new_passkey(context: PageContext) -> PageResponse:
    """The form for another passkey."""
    return await context.render("passkeys.html")


@screen(f"{routes.PASSKEYS}/options", confirmed=True)
async def creation(context: PageContext) -> PageResponse:
    """What the browser needs to have the device make a passkey."""
    options = await passkeys.creation_options(context.me, public.site(context.request))
    return public.options_response(context.request, *options)


@action(routes.PASSKEYS, role="viewer", shown_on=new_passkey, confirmed=True)
async def add_passkey(context: PageContext) -> PageResponse:
    """From the next time on the password alone is not enough; every other browser is signed out."""
    answer = public.answer(context.request, context.form.raw("made"))
    await passkeys.add(context.me, context.form.text("name"), answer)
    return context.redirect("/account", "The passkey is added, and every other browser is signed out.")


@action(
    routes.PASSKEYS + "/{passkey_id}/remove", role="viewer", shown_on=account, confirmed=True, audit="passkey.removed"
)
async def remove_passkey(context: PageContext, passkey_id: str) -> str:
    context.entry.detail = await passkeys.remove(_login(context), passkey_id)
    return "The passkey is removed. Delete it on your device, too."


@action("/account/recovery-codes", role="viewer", shown_on=account, confirmed=True, audit="recovery_codes.made")
async def make_codes(context: PageContext) -> PageResponse:
    """Ten codes, shown once; those of before are good no more."""
    if not context.me.second_factor:
        raise Conflict("Recovery codes replace a second factor. Add a passkey or an authenticator app first.")
    context.entry.subject = context.me.user_id
    codes = await second_factor.make_codes(_login(context))
    return await context.render("recovery_codes.html", 201, codes=codes)


def _login(context: PageContext) -> str:
    """The login, to be changed. Raise Conflict for who came from a provider: it vouches for its own workspace alone."""
    if context.me.provider:
        raise Conflict("You signed in through a provider, which asks for what it asks for. Sign in by password first.")
    return context.me.login_id


def _onward(form: Form) -> str:
    return security.local(form.text("next") or "/")


async def _finish(request: public.Asked, form: Form, signing_in: Awaitable[str]) -> PageResponse:
    """Go on under the new session, or ask again: with a ticket of the password for the second factor."""
    try:
        return await public.go_on(request, await signing_in, _onward(form))
    except DomainError as refusal:
        ticket = form.text("ticket")
        return _code_form(request, form, ticket, refusal) if ticket else await _sign_in_form(request, form, refusal)


def _code_form(request: public.Asked, form: Form, ticket: str, refusal: DomainError | None = None) -> PageResponse:
    values = {"onward": _onward(form), "ticket": ticket, "join": form.text("join")}
    return public.form_page(request, "public/code.html", refusal, **values)


async def _sign_in_form(request: public.Asked, form: Form, refusal: DomainError | None = None) -> PageResponse:
    offer = await reads.offer(form.text("join")) if form.text("join") else None
    email = form.text("email") or (offer["email"] if offer else "") or ""
    values = {"onward": _onward(form), "email": email, "join": form.text("join"), "offer": offer, "changed": False}
    return public.form_page(request, "public/sign_in.html", refusal, **values)


async def _join_form(request: public.Asked, refusal: DomainError | None = None, **said: str) -> PageResponse:
    token, me = request.path_params["token"], await public.signed_in(request)
    values = {"offer": await reads.offer(token), "email": "", "name": "", "token": token, "me": me, **said}
    return public.form_page(request, "public/join.html", refusal, **values)


OPEN: Final[list[HTTPRouteHandler]] = [sign_in, signed_in, code_given, challenge, passkey_given, join, joined]
"""The only pages that anybody may open."""
