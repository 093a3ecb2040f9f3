"""One's own account: where one is signed in, and a new password."""

from typing import Any

from litestar import Response

from leadwire.accounts import audit, sessions, signing_in
from leadwire.pages.routes import action, screen
from leadwire.pages.visit import Visit


@screen("/account")
async def account(visit: Visit) -> Response[str]:
    """Signed-in browsers, and the form for another password."""
    return await visit.page("account.html", sessions=await sessions.listed(visit.me.user_id))


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
