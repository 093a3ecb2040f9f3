"""A forgotten password: a one-time link by mail, an hour long, to another one.

Whether an address has an account is told to nobody: the answer is the same, and takes equally long. A second factor
stays: who has somebody's mailbox alone does not get in.
"""

import asyncio
import secrets
from datetime import timedelta
from typing import Final

from leadwire.domain.accounts import keys, notify
from leadwire.domain.accounts.audit import changes as audit
from leadwire.domain.accounts.reads import why_closed
from leadwire.domain.accounts.sign_in import passwords, tries
from leadwire.domain.accounts.sign_in.changes import sessions
from leadwire.domain.accounts.sign_in.changes.sessions import Browser
from leadwire.domain.accounts.table import Login
from leadwire.infrastructure import clock, db, email_address, telemetry
from leadwire.infrastructure.db.queries import query
from leadwire.infrastructure.db.statements import named
from leadwire.infrastructure.errors import NotFound
from leadwire.infrastructure.rate_limit import RateLimit

LIFE: Final = timedelta(hours=1)

_GONE: Final = "This link has been used, replaced, or is too old. Ask for another one."
_TAKES: Final = 0.5  # seconds until the answer, whatever there was to do
_PER_ADDRESS: Final = RateLimit("password-reset", 3, window=3600)

_OWNERS, _FIND, _ADD, _USE = named(__file__, "owners find add use")


@query()
async def withdraw(login_id: str) -> None:
    """Let a login's link lead nowhere: its owner has another password by now."""


async def ask(email: str, address: str) -> None:
    """Mail a link, which replaces the one before, if somebody has this address. Raise RateLimited, whoever it is."""
    until = asyncio.get_running_loop().time() + _TAKES
    email = email_address.normal(email)
    await tries.count_stranger(f"reset {email}", address)
    await _PER_ADDRESS.claim(email, "Three mails an hour. Look for those that were sent.")
    for login_id, workspaces in await _OWNERS.rows(email=email):
        token = secrets.token_urlsafe(32)
        async with db.transaction():
            await _ADD.rows(user_id=login_id, hash=keys.digest(token), expires_at=clock.now() + LIFE)
            await notify.tell(login_id, "password_reset", path=f"/reset-password/{token}")
            for workspace in workspaces:
                entry = audit.Entry("user.password_reset_requested", login_id)
                await audit.record(workspace, email, entry, address)
    await asyncio.sleep(until - asyncio.get_running_loop().time())


async def owner_of(token: str) -> db.Row:
    """Return the `id`, `email` and `workspaces` of the login that a link is for. Raise NotFound, WorkspaceSuspended."""
    row = await _FIND.one(NotFound(_GONE), hash=keys.digest(token), now=clock.now())
    if row["suspended"]:
        raise await why_closed(row["workspaces"][0])
    if not row["opens"]:
        raise NotFound(_GONE)
    return row


async def use(token: str, password: str, browser: Browser) -> str:
    """Set another password and use the link up; every session ends. Return the e-mail address.

    The browser is known from now on: strangers who try passwords do not hold its owner up.

    Raise NotFound, WorkspaceSuspended, Invalid, RateLimited, Unavailable.
    """
    # Before anything is hashed: only a link may cost that much.
    login_id, email, _, workspaces, _ = await owner_of(token)
    telemetry.set_workspace(workspaces[0])
    hashed = await hashed_for(token, email, password)
    async with db.transaction():
        # First, as `change_password` takes its locks.
        await Login.update({Login.password_hash: hashed}).where(Login.id == login_id)
        await _USE.one(NotFound(_GONE), hash=keys.digest(token))
        await sessions.end_all(login_id)
        await sessions.know_browser(login_id, browser.mark)
        await notify.tell(login_id, "password_changed")
        entry = audit.Entry("user.password_reset", login_id, login_id=login_id)
        await audit.record(None, email, entry, browser.address)
    return str(email)


async def hashed_for(token: str, email: str, password: str) -> str:
    """What is stored of the password that whoever has a one-time link chooses. A link may be tried five times in five
    minutes. Raise Invalid, RateLimited, Unavailable.
    """
    passwords.KNOWN.check_capacity()
    await tries.count(f"link {token}")
    passwords.check(password, email)
    return await passwords.digest(password)
