"""A forgotten password: a one-time link by mail, an hour long, to another one.

Whether an address has an account is told to nobody: the answer is the same, and takes equally long. A second factor
stays: who has somebody's mailbox alone does not get in.
"""

import asyncio
import secrets
from datetime import timedelta
from typing import Final

from leadwire.domain.accounts import closed, keys, notify
from leadwire.domain.accounts.audit import changes as audit
from leadwire.domain.accounts.sign_in import passwords, tries
from leadwire.domain.accounts.sign_in.changes import sessions
from leadwire.domain.accounts.sign_in.changes.sessions import Browser
from leadwire.domain.accounts.table import WORKSPACES, Login, PasswordReset
from leadwire.infrastructure import clock, db, telemetry
from leadwire.infrastructure.db.statements import insert, param, sql, statement
from leadwire.infrastructure.errors import NotFound, RateLimited
from leadwire.infrastructure.rate_limit import RateLimit

LIFE: Final = timedelta(hours=1)

_GONE: Final = "This link has been used, replaced, or is too old. Ask for another one."
_TAKES: Final = 0.5  # seconds until the answer, whatever there was to do
_WINDOW: Final = 3600  # seconds
_PER_ADDRESS: Final = RateLimit("password-reset", 3, window=_WINDOW)

# An account that a password opens, or one beside which it will open another.
_OPEN: Final = """FROM user_account u JOIN workspace w ON w.id = u.workspace_id
WHERE u.login_id = l.id AND w.suspended_at IS NULL AND (u.break_glass OR NOT w.sso_enforced OR EXISTS (
    SELECT 1 FROM invitation i WHERE lower(i.email) = lower(l.email) AND i.mailed AND i.expires_at > now()))"""
# Whose address it is, with the workspaces that they may open: whoever has verified it, else all who say so.
_OWNERS: Final = sql(f"""
SELECT l.id, ARRAY(SELECT u.workspace_id {_OPEN} ORDER BY 1) AS workspaces FROM login l
WHERE lower(email) = :email AND EXISTS (SELECT 1 {_OPEN}) AND (verified_at IS NOT NULL OR NOT EXISTS (
    SELECT 1 FROM login v WHERE lower(v.email) = :email AND v.verified_at IS NOT NULL)) ORDER BY l.id""")
_ADD: Final = insert(
    *PasswordReset.all_columns(),
    end="ON CONFLICT (user_id) DO UPDATE SET hash = excluded.hash, expires_at = excluded.expires_at",
)
# What a link is for.
_FIND: Final = sql(f"""
SELECT l.id, l.email, EXISTS (SELECT 1 {_OPEN}) AS opens, {WORKSPACES}, NOT EXISTS (SELECT 1 FROM user_account u
    JOIN workspace w ON w.id = u.workspace_id WHERE u.login_id = l.id AND w.suspended_at IS NULL) AS suspended
FROM password_reset r JOIN login l ON l.id = r.user_id WHERE r.hash = :hash AND r.expires_at > :now""")
_USE: Final = statement(
    PasswordReset.delete().where(PasswordReset.hash == param("hash")).returning(PasswordReset.user_id)
)
_SET_PASSWORD: Final = statement(Login.update(password_hash=param("password")).where(Login.id == param("id")))
# Lets a login's link lead nowhere: its owner has another password by now.
withdraw: Final = statement(PasswordReset.delete().where(PasswordReset.user_id == param("user"))).rows


async def ask(email: str, address: str) -> None:
    """Mail a link, which replaces the one before, if somebody has this address. Raise RateLimited, whoever it is."""
    until = asyncio.get_running_loop().time() + _TAKES
    email = email.strip().lower()
    await tries.count_stranger(f"reset {email}", address)
    if not await _PER_ADDRESS.take_at_once(email):
        raise RateLimited("Three mails an hour. Look for those that were sent.", headers={"Retry-After": str(_WINDOW)})
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
    found = await _FIND.one(NotFound(_GONE), hash=keys.digest(token), now=clock.now())
    if found["suspended"]:
        raise await closed.reason(found["workspaces"][0])
    if not found["opens"]:
        raise NotFound(_GONE)
    return found


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
        await _SET_PASSWORD.rows(id=login_id, password=hashed)  # first, as `change_password` takes its locks
        await _USE.one(NotFound(_GONE), hash=keys.digest(token))
        await sessions.end_all(login_id)
        await sessions.know_browser(login_id, browser.mark)
        await notify.tell(login_id, "password_changed")
        for workspace in workspaces:
            await audit.record(workspace, email, audit.Entry("user.password_reset", login_id), browser.address)
    return str(email)


async def hashed_for(token: str, email: str, password: str) -> str:
    """What is stored of the password that whoever has a one-time link chooses. A link may be tried five times in five
    minutes. Raise Invalid, RateLimited, Unavailable.
    """
    passwords.KNOWN.check_capacity()
    await tries.count(f"link {token}")
    passwords.check(password, email)
    return await passwords.digest(password)
