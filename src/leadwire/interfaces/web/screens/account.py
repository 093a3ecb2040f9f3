"""Sign in, sign out, the one-time link to an account, a forgotten password, confirming that it is you; and one's own
account.
"""

import segno
from markupsafe import Markup

from leadwire.domain.accounts import networks, reads
from leadwire.domain.accounts.changes import team
from leadwire.domain.accounts.sign_in import changes as accounts
from leadwire.domain.accounts.sign_in.changes import passkeys, password_reset, second_factor, sessions
from leadwire.domain.mail import reads as mail
from leadwire.domain.notices import reads as notices
from leadwire.infrastructure.errors import Conflict, NotFound
from leadwire.interfaces.http import client_network
from leadwire.interfaces.http.routes import get
from leadwire.interfaces.web import public_pages as public
from leadwire.interfaces.web import routes, security
from leadwire.interfaces.web.page_context import PageContext, PageResponse, redirect
from leadwire.interfaces.web.public_pages import Visit, open_form, open_page
from leadwire.interfaces.web.routes import PASSKEYS, SECOND_FACTOR, Values, action, check_again, screen


@open_page(routes.SIGN_IN)
async def sign_in(visit: Visit) -> PageResponse:
    """The form. Who is signed in already goes on, unless they have an invitation."""
    join, me = visit.form.text("join"), await public.signed_in(visit.request)
    here = client_network.address(visit.request.scope)
    if not visit.refusal and not join and me and networks.allow(here, me.networks):
        return redirect(visit.onward)
    offer = await reads.offer(join) if join else None
    email = visit.form.text("email") or (offer["email"] if offer else "") or ""
    values = {"onward": visit.onward, "email": email, "join": join, "offer": offer, "changed": False}
    return visit.render("public/sign_in.html", **values)


@open_form(routes.SIGN_IN, shown_on=sign_in.body)
async def signed_in(visit: Visit) -> PageResponse:
    """A new session, or the question for the second factor."""
    form, browser = visit.form, public.browser(visit.request)
    login = form.text("email"), form.raw("password"), browser, form.text("join")
    token, code_wanted = await accounts.sign_in(*login)
    return await (_ask(visit, token) if code_wanted else public.go_on(visit.request, token, visit.onward))


async def _ask(visit: Visit, ticket: str = "") -> PageResponse:
    """For the second factor where there is a ticket of the password, else for the password."""
    if ticket := ticket or visit.form.text("ticket"):
        return visit.render("public/code.html", onward=visit.onward, ticket=ticket, join=visit.form.text("join"))
    return await sign_in.body(visit)


@open_form("/sign-in/code", shown_on=_ask)
async def code_given(visit: Visit) -> PageResponse:
    """A new session, after the password and the code."""
    code, browser = (visit.form.text("ticket"), visit.form.text("code")), public.browser(visit.request)
    token = await accounts.give_code(*code, browser, visit.form.text("join"))
    return await public.go_on(visit.request, token, visit.onward)


@get("/sign-in/passkey")
async def challenge(request: public.Asked) -> PageResponse:
    """What the browser needs to ask the device for a passkey."""
    return public.options_response(request, *passkeys.request_options(passkeys.Site(security.public_url(request))))


@open_form("/sign-in/passkey", shown_on=_ask)
async def passkey_given(visit: Visit) -> PageResponse:
    """A new session, by a passkey alone or after the password."""
    form, browser = visit.form, public.browser(visit.request)
    answer = public.answer(visit.request, form.raw(public.CREDENTIAL)), form.text("ticket")
    token = await accounts.give_passkey(*answer, browser, form.text("join"))
    return await public.go_on(visit.request, token, visit.onward)


@open_page("/join/{token:str}")
async def join(visit: Visit) -> PageResponse:
    """What a one-time link leads to."""
    email, name = visit.form.text("email"), visit.form.text("name")
    offer, me = await reads.offer(visit.token), await public.signed_in(visit.request)
    return visit.render("public/join.html", offer=offer, email=email, name=name, token=visit.token, me=me)


@open_form("/join/{token:str}", shown_on=join.body)
async def joined(visit: Visit) -> PageResponse:
    """The account is made, its owner signed in."""
    form, browser = visit.form, public.browser(visit.request)
    token = await team.accept(visit.token, form.text("email"), form.raw("password"), browser, form.text("name"))
    return await public.go_on(visit.request, token, "/")


@open_page("/forgot-password")
async def forgot(visit: Visit) -> PageResponse:
    """Asks for the address, or says that it was sent. Raise NotFound where no mail is sent."""
    if not mail.enabled():
        raise NotFound("No mail is sent here. Ask an admin of your team for a new link.")
    sent = visit.request.method == "POST" and not visit.refusal
    return visit.render("public/forgot.html", email=visit.form.text("email"), sent=sent)


@open_form("/forgot-password", shown_on=forgot.body)
async def forgotten(visit: Visit) -> PageResponse:
    """The same for every address."""
    page = await forgot.body(visit)
    await password_reset.ask(visit.form.text("email"), client_network.network(visit.request.scope))
    return page


@open_page("/reset-password/{token:str}")
async def reset(visit: Visit) -> PageResponse:
    """What the link in the mail leads to."""
    owner = await password_reset.owner_of(visit.token)
    return visit.render("public/reset.html", email=owner["email"])


@open_form("/reset-password/{token:str}", shown_on=reset.body)
async def was_reset(visit: Visit) -> PageResponse:
    """New password; then the way in is the usual one, the second factor included."""
    email = await password_reset.use(visit.token, visit.form.raw("password"), public.browser(visit.request))
    page = visit.render("public/sign_in.html", onward="/", email=email, offer=None, changed=True)
    security.set_browser_mark(page, visit.request)
    return page


@screen(routes.CONFIRM, "confirm.html")
async def confirm(context: PageContext) -> Values:
    """Asks for the password or a passkey again: something secret is about to be shown."""
    onward = security.local(context.form.text("next") or context.query.text("next") or "/")
    return {"action": routes.CONFIRM, "held": [("next", onward)], "field": "password", "onward": onward}


@action(routes.CONFIRM, role="viewer", shown_on=confirm)
async def confirmed(context: PageContext) -> PageResponse:
    """Back to where it was asked for."""
    await check_again(context, context.form.raw("password"), context.form.raw(public.CREDENTIAL))
    return redirect(security.local(context.form.text("next") or "/"))


@action("/sign-out", role="viewer")
async def sign_out(context: PageContext) -> PageResponse:
    """The session ends here and in the database."""
    return await public.go_on(context.request, "", routes.SIGN_IN)


@screen("/account", "account.html")
async def account(context: PageContext) -> Values:
    """Signed-in browsers, the ways to sign in, what to be told of, and the form for another password."""
    return {
        "sessions": await reads.sessions(context.me),
        "passkeys": await reads.passkeys(context.me.login_id),
        "factors": await reads.factors(context.me.login_id),
        "notices": await notices.shown(context.me),
    }


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


@screen(SECOND_FACTOR, "second_factor.html", confirmed=True)
async def set_up(context: PageContext) -> Values:
    """A secret for an authenticator app. It is kept once a code shows that the app has it."""
    secret, offer = second_factor.offer(_login(context), context.form.text("offer"))
    code = segno.make(second_factor.uri(secret, context.me.email), error="m")
    # Within the page: no file and no address holds the secret.
    picture = Markup(code.svg_inline(scale=4, light="#fff"))  # noqa: S704
    return {"secret": secret, "offer": offer, "picture": picture}


@action(SECOND_FACTOR, role="viewer", shown_on=set_up, confirmed=True)
async def switch_on(context: PageContext) -> PageResponse:
    """From the next time on a code is asked for; every other browser is signed out."""
    await second_factor.add(context.me, context.form.text("offer"), context.form.text("code"))
    said = "The second factor is on, and every other browser signed out. Make recovery codes."
    return context.redirect("/account", said)


@action(SECOND_FACTOR + "/remove", role="viewer", shown_on=account, confirmed=True, audit="user.second_factor_removed")
async def switch_off(context: PageContext) -> str:
    context.entry.subject = context.me.user_id
    await second_factor.remove_app(_login(context))
    return "The authenticator app is off."


@screen(PASSKEYS, "passkeys.html", confirmed=True)
async def new_passkey(_: PageContext) -> Values:
    """The form for another passkey."""
    return {}


@screen(PASSKEYS + "/options", confirmed=True)
async def creation(context: PageContext) -> PageResponse:
    """What the browser needs to have the device make a passkey."""
    options = await passkeys.creation_options(context.me, passkeys.Site(security.public_url(context.request)))
    return public.options_response(context.request, *options)


@action(PASSKEYS, role="viewer", shown_on=new_passkey, confirmed=True)
async def add_passkey(context: PageContext) -> PageResponse:
    """From the next time on the password alone is not enough; every other browser is signed out."""
    answer = public.answer(context.request, context.form.raw("made"))
    await passkeys.add(context.me, context.form.text("name"), answer)
    return context.redirect("/account", "The passkey is added, and every other browser is signed out.")


@action(PASSKEYS + "/{passkey_id}/remove", role="viewer", shown_on=account, confirmed=True, audit="passkey.removed")
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
    """The login, to be changed, which the entry in the audit log is about.

    Raise Conflict for who came from a provider: it vouches for its own workspace alone.
    """
    if context.me.provider:
        raise Conflict("You signed in through a provider, which asks for what it asks for. Sign in by password first.")
    context.entry.login_id = context.me.login_id
    return context.me.login_id
