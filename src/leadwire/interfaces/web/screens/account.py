"""One's own account: where one is signed in, a new password, the second factor."""

import segno
from markupsafe import Markup

from leadwire.domain.accounts import reads
from leadwire.domain.accounts.changes import second_factor, sessions, sign_in
from leadwire.interfaces.web.page_context import PageContext, PageResponse
from leadwire.interfaces.web.routes import SECOND_FACTOR, action, screen


@screen("/account")
async def account(context: PageContext) -> PageResponse:
    """Signed-in browsers, and the form for another password."""
    return await context.render("account.html", sessions=await reads.sessions(user=context.me.user_id))


@action("/account/password", role="viewer", shown_on=account)
async def change_password(context: PageContext) -> PageResponse:
    await sign_in.change_password(context.me, context.form.raw("present"), context.form.raw("password"))
    return context.redirect("/account", "Your password is changed, and every other browser signed out.")


@action("/account/sessions/{session_id}/end", role="viewer", shown_on=account, audit="session.ended")
async def end_session(context: PageContext, session_id: str) -> PageResponse:
    await sessions.end_one(context.me.user_id, session_id)
    return context.redirect("/account", "That browser is signed out.")


@screen(SECOND_FACTOR, confirmed=True)
async def set_up(context: PageContext) -> PageResponse:
    """A secret for an authenticator app. It is kept once a code shows that the app has it."""
    secret, offer = second_factor.offer(context.me.user_id, context.form.text("offer"))
    code = segno.make(second_factor.uri(secret, context.me.email), error="m")
    # Within the page: no file and no address holds the secret.
    picture = Markup(code.svg_inline(scale=4, light="#fff"))  # noqa: S704
    return await context.render("second_factor.html", secret=secret, offer=offer, picture=picture)


@action(SECOND_FACTOR, role="viewer", shown_on=set_up, confirmed=True)
async def switch_on(context: PageContext) -> PageResponse:
    """From the next time on a code is asked for; every other browser is signed out."""
    await second_factor.add(context.me, context.form.text("offer"), context.form.text("code"))
    return context.redirect("/account", "The second factor is on, and every other browser signed out.")


@action(
    "/account/second-factor/remove",
    role="viewer",
    shown_on=account,
    confirmed=True,
    audit="user.second_factor_removed",
)
async def switch_off(context: PageContext) -> PageResponse:
    context.entry.subject = context.me.user_id
    await second_factor.remove(context.workspace, context.me.user_id)
    return context.redirect("/account", "The second factor is off.")
