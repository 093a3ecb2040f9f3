"""One's own account: where one is signed in, a new password, the second factor."""

from typing import Any

import segno
from litestar import Response
from markupsafe import Markup

from leadwire.domain.accounts import reads
from leadwire.domain.accounts.changes import audit, second_factor, sessions, sign_in
from leadwire.interfaces.web.page_context import PageContext
from leadwire.interfaces.web.routes import SECOND_FACTOR, action, screen


@screen("/account")
async def account(context: PageContext) -> Response[str]:
    """Signed-in browsers, and the form for another password."""
    return await context.render(
        "account.html",
        sessions=await reads.sessions(context.me.user_id),
        second_factor=await reads.has_second_factor(context.me.user_id),
    )


@action("/account/password", role="viewer", shown_on=account)
async def change_password(context: PageContext) -> Response[Any]:
    """Another password; every other browser is signed out."""
    await sign_in.change_password(context.me, context.form.raw("present"), context.form.raw("password"))
    return await context.redirect("/account", "Your password is changed, and every other browser signed out.")


@action("/account/sessions/{session_id:str}/end", role="viewer", shown_on=account)
async def end_session(context: PageContext) -> Response[Any]:
    """One of one's own sessions ends."""
    async with audit.transaction(context.me, "session.ended", context.path_param("session_id")):
        await sessions.end_one(context.me.user_id, context.path_param("session_id"))
    return await context.redirect("/account", "That browser is signed out.")


@screen(SECOND_FACTOR, confirmed=True)
async def set_up(context: PageContext) -> Response[str]:
    """A secret for an authenticator app. It is kept once a code shows that the app has it."""
    secret, offer = second_factor.offer(context.me.user_id, context.form.text("offer"))
    picture = _qr_code(second_factor.uri(secret, context.me.email))
    return await context.render("second_factor.html", secret=secret, offer=offer, picture=picture)


@action(SECOND_FACTOR, role="viewer", shown_on=set_up, confirmed=True)
async def switch_on(context: PageContext) -> Response[Any]:
    """From the next time on a code is asked for; every other browser is signed out."""
    await second_factor.add(context.me, context.form.text("offer"), context.form.text("code"))
    return await context.redirect("/account", "The second factor is on, and every other browser signed out.")


@action("/account/second-factor/remove", role="viewer", shown_on=account, confirmed=True)
async def switch_off(context: PageContext) -> Response[Any]:
    """The password is enough again."""
    async with audit.transaction(context.me, "user.second_factor_removed", context.me.user_id):
        await second_factor.remove(context.workspace, context.me.user_id)
    return await context.redirect("/account", "The second factor is off.")


def _qr_code(text: str) -> Markup:
    """Return the QR code of `text` as SVG in the page: no file and no address that would hold the secret."""
    return Markup(segno.make(text, error="m").svg_inline(scale=4, light="#fff"))  # noqa: S704
