"""API keys: a table; make, roll and revoke them. A key is shown once, on the page that answers its making."""

from typing import Any, Final

from litestar import Response

from leadwire.domain.accounts import changes, reads
from leadwire.domain.accounts.changes import audit
from leadwire.domain.accounts.keys import SCOPES
from leadwire.infrastructure import clock
from leadwire.interfaces.web.forms import wrong
from leadwire.interfaces.web.page_context import PageContext
from leadwire.interfaces.web.routes import action, screen

OVERLAPS: Final = {0: "at once", 3600: "in 1 hour", 86_400: "in 24 hours", 604_800: "in 7 days"}
LIVES: Final = {"": "never", "30": "in 30 days", "90": "in 90 days", "365": "in a year"}


@screen("/keys", role="admin")
async def keys(context: PageContext) -> Response[str]:
    """Every key of the workspace, and the form for a new one."""
    return await context.render(
        "keys/list.html", keys=await reads.listed(context.workspace), scopes=SCOPES, lives=LIVES, overlaps=OVERLAPS
    )


@action("/keys", shown_on=keys, confirmed=True)
async def create(context: PageContext) -> Response[Any]:
    """A new key."""
    name = context.form.required_name("Give the key a name.")
    if not (scopes := context.form.all("scope")):
        raise wrong("scope", "required", "Choose at least one.", "Allow at least one thing.")
    days = context.form.choice("life", LIVES, "Choose when it expires.")
    expires_at = clock.ago(days=-int(days)) if days else None
    async with audit.transaction(context.me, "api_key.created", detail=name) as entry:
        entry.subject, secret = await changes.create_key(context.workspace, name, scopes, expires_at)
    return await _revealed(context, entry.subject, secret)


@action("/keys/{key_id:str}/roll", shown_on=keys, confirmed=True)
async def roll(context: PageContext) -> Response[Any]:
    """A successor with the same name and scopes; the old key goes on for a while."""
    overlap = context.form.number("overlap") or 0
    async with audit.transaction(context.me, "api_key.rolled", context.path_param("key_id"), OVERLAPS.get(overlap, "")):
        key_id, secret = await changes.roll_key(context.workspace, context.path_param("key_id"), overlap)
    return await _revealed(context, key_id, secret)


@action("/keys/{key_id:str}/revoke", shown_on=keys)
async def revoke(context: PageContext) -> Response[Any]:
    """The key ends now."""
    async with audit.transaction(context.me, "api_key.revoked", context.path_param("key_id")):
        await changes.revoke_key(context.workspace, context.path_param("key_id"))
    return await context.redirect("/keys", "The key is revoked. It stops working within 5 seconds.")


async def _revealed(context: PageContext, key_id: str, secret: str) -> Response[str]:
    """The one page that ever shows it: never in an address, never kept by the browser."""
    return await context.render("keys/made.html", 201, key=await reads.key(context.workspace, key_id), secret=secret)
