"""A person's passkeys and recovery codes. Signing in with them is in `account.py`."""

from leadwire.domain.accounts.changes import passkeys, recovery_codes
from leadwire.infrastructure.errors import Conflict
from leadwire.interfaces.web.page_context import PageContext, PageResponse
from leadwire.interfaces.web.routes import PASSKEYS, action, screen
from leadwire.interfaces.web.screens import account as own
from leadwire.interfaces.web.webauthn import answer, options_response, site


@screen(PASSKEYS, confirmed=True)
async def new_passkey(context: PageContext) -> PageResponse:
    """The form for another passkey."""
    return await context.render("passkeys.html")


@screen(f"{PASSKEYS}/options", confirmed=True)
async def creation(context: PageContext) -> PageResponse:
    """What the browser needs to have the device make a passkey."""
    options = await passkeys.creation_options(context.me, site(context.request))
    return options_response(context.request, *options)


@action(PASSKEYS, role="viewer", shown_on=new_passkey, confirmed=True)
async def add_passkey(context: PageContext) -> PageResponse:
    """From the next time on the password alone is not enough; every other browser is signed out."""
    given = answer(context.request, context.form.raw("made"))
    await passkeys.add(context.me, context.form.text("name"), given)
    return context.redirect("/account", "The passkey is added, and every other browser is signed out.")


@action(PASSKEYS + "/{passkey_id}/remove", role="viewer", shown_on=own.account, confirmed=True, audit="passkey.removed")
async def remove_passkey(context: PageContext, passkey_id: str) -> PageResponse:
    context.entry.detail = await passkeys.remove(context.me.user_id, passkey_id)
    return context.redirect("/account", "The passkey is removed. Delete it on your device, too.")


@action("/account/recovery-codes", role="viewer", shown_on=own.account, confirmed=True, audit="recovery_codes.made")
async def make_codes(context: PageContext) -> PageResponse:
    """Ten codes, shown once; those of before are good no more."""
    if not context.me.second_factor:
        raise Conflict("Recovery codes replace a second factor. Add a passkey or an authenticator app first.")
    context.entry.subject = context.me.user_id
    codes = await recovery_codes.make(context.me.user_id)
    return await context.render("recovery_codes.html", 201, codes=codes)
