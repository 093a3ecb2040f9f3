"""One's own account: where one is signed in, a new password, the second factor."""

from typing import Any

from litestar import Response

from leadwire.domain.accounts import audit, second_factor, sessions, signing_in
from leadwire.interfaces.web import qr
from leadwire.interfaces.web.page_context import Visit
from leadwire.interfaces.web.routes import SECOND_FACTOR, action, screen


@screen("/account")
async def account(visit: Visit) -> Response[str]:
    """Signed-in browsers, and the form for another password."""
    return await visit.page(
        "account.html",
        sessions=await sessions.listed(visit.me.user_id),
        second_factor=await second_factor.is_set(visit.me.user_id),
    )


@action("/account/password", role="viewer", shown_on=account)
async def change_password(visit: Visit) -> Response[Any]:
    """Another password; every other browser is signed out."""
    await signing_in.change_password(visit.me, visit.form.raw("present"), visit.form.raw("password"))
    return await visit.back("/account", "Your password is changed, and every other browser signed out.")


@action("/account/sessions/{session_id:str}/end", role="viewer", shown_on=account)
async def end_session(visit: Visit) -> Response[Any]:
    """One of one's own sessions ends."""
    async with audit.act(visit.me, "session.ended", visit.part("session_id")):
        await sessions.end_one(visit.me.user_id, visit.part("session_id"))
    return await visit.back("/account", "That browser is signed out.")


@screen(SECOND_FACTOR, confirmed=True)
async def set_up(visit: Visit) -> Response[str]:
    """A secret for an authenticator app. It is kept once a code shows that the app has it."""
    secret, offer = second_factor.offer(visit.me.user_id, visit.form.text("offer"))
    picture = qr.picture(second_factor.uri(secret, visit.me.email))
    return await visit.page("second_factor.html", secret=secret, offer=offer, picture=picture)


@action(SECOND_FACTOR, role="viewer", shown_on=set_up, confirmed=True)
async def switch_on(visit: Visit) -> Response[Any]:
    """From the next time on a code is asked for; every other browser is signed out."""
    await second_factor.add(visit.me, visit.form.text("offer"), visit.form.text("code"))
    return await visit.back("/account", "The second factor is on, and every other browser signed out.")


@action("/account/second-factor/remove", role="viewer", shown_on=account, confirmed=True)
async def switch_off(visit: Visit) -> Response[Any]:
    """The password is enough again."""
    async with audit.act(visit.me, "user.second_factor_removed", visit.me.user_id):
        await second_factor.remove(visit.workspace, visit.me.user_id)
    return await visit.back("/account", "The second factor is off.")
