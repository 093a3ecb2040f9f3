"""Signing in: by password, with a second factor where the account has one, or by passkey; and the session that follows.

Who signs in from a browser that the account's owner has used before is not held up by strangers, see `sessions`.
"""

import logging
from typing import Final

from leadwire.domain.accounts import notify
from leadwire.domain.accounts.audit import changes as audit
from leadwire.domain.accounts.schema import Person
from leadwire.domain.accounts.sign_in import passwords, tries
from leadwire.domain.accounts.sign_in.changes import passkeys, password_reset, second_factor, sessions
from leadwire.domain.accounts.sign_in.changes.passkeys import Answer
from leadwire.domain.accounts.sign_in.changes.sessions import Browser
from leadwire.domain.accounts.table import HAS_FACTOR, UserAccount
from leadwire.infrastructure import clock, db, telemetry
from leadwire.infrastructure.db.statements import param, sql, statement
from leadwire.infrastructure.errors import Invalid, WorkspaceSuspended

_BY_ID: Final = UserAccount.id == param("id")
# An account; whether its password is not enough; the browsers it has been used in.
_BY_EMAIL: Final = sql(f"""
SELECT workspace_id, id, password_hash, {HAS_FACTOR} AS code_wanted, known_browsers
FROM user_account u WHERE lower(email) = :email""")
_PASSWORD: Final = statement(UserAccount.select("password_hash").where(_BY_ID))
# An account, and whether it may not sign in now: because its workspace is suspended, or by what is not a provider's.
_ACCOUNT: Final = sql("""
SELECT workspace_id, email, w.suspended_at IS NOT NULL AS suspended, w.sso_enforced AND NOT u.break_glass AS barred
FROM user_account u JOIN workspace w ON w.id = u.workspace_id WHERE u.id = :id""")
_SET_PASSWORD: Final = statement(UserAccount.update(password_hash=param("hash")).where(_BY_ID))
# A compare-and-set: while the password was checked, another may have been set, or a second factor.
_STILL: Final = sql(f"""
UPDATE user_account u SET password_hash = :fresh
WHERE id = :id AND password_hash = :stored AND {HAS_FACTOR} = :code_wanted RETURNING id""")


async def sign_in(email: str, password: str, browser: Browser) -> tuple[str, bool]:
    """Return a new session's token or, where a second factor is wanted, a ticket for it; and whether one is.

    Raise RateLimited, Unavailable; Invalid, the same for a wrong password and an unknown address; WorkspaceSuspended
    when the password was right.
    """
    email = email.strip().lower()
    wrong = Invalid("E-mail or password is not right.")
    account = await _BY_EMAIL.row(email=email)
    known = sessions.known_browser(browser.mark, account["known_browsers"] if account else ())
    lane = passwords.KNOWN if known else passwords.STRANGERS
    lane.check_capacity()
    await (tries.count(f"{email} {known}") if known else tries.count_stranger(email, browser.address))
    if account:
        telemetry.set_workspace(account["workspace_id"])
    stored = account["password_hash"] if account else None
    matches = await passwords.matches(stored, password, lane)
    if account is None or not matches:
        # Written later: doing so now for known addresses would take longer, and so tell which are known.
        if account:
            tries.failed(account["workspace_id"], email, "wrong password", browser.address)
        telemetry.log("sign_in.refused", level=logging.WARNING, user=account["id"] if account else None)
        raise wrong
    await (tries.forgive(f"{email} {known}") if known else tries.forgive_stranger(email, browser.address))
    _, user_id, stored, code_wanted, _ = account
    fresh = await passwords.digest(password) if passwords.outdated(stored) else stored
    async with db.transaction():
        if not await _STILL.row(id=user_id, stored=stored, fresh=fresh, code_wanted=code_wanted):
            raise wrong
        if code_wanted:
            return second_factor.ticket(user_id, fresh), True
        return await _begin(user_id, browser), False


async def give_code(ticket: str, code: str, browser: Browser) -> str:
    """Return a new session's token, for a ticket of `sign_in` and the present code. Raise RateLimited, Invalid."""
    try:
        user_id = await second_factor.redeem(ticket, code, browser.address)
    except Invalid:
        telemetry.log("sign_in.code_refused", level=logging.WARNING)
        raise
    return await _begin(user_id, browser)


async def give_passkey(answer: Answer, ticket: str, browser: Browser) -> str:
    """Return a new session's token, for a passkey; with a ticket of `sign_in`, for one of the same account.

    Raise Invalid.
    """
    try:
        user_id = await passkeys.owner(answer)
        if ticket and (await second_factor.holder(ticket))[0] != user_id:
            raise Invalid("This passkey is another account's.")
    except Invalid:
        telemetry.log("sign_in.passkey_refused", level=logging.WARNING)
        raise
    return await _begin(user_id, browser, "by passkey")


async def confirm(person: Person, password: str, answer: Answer | None = None) -> None:
    """Check, by the password or what one of their passkeys answered, that the person is still the one who signed in.

    Raise RateLimited, Unavailable, Invalid.
    """
    if person.provider:
        raise Invalid("Confirm at the provider that you signed in through.")
    if answer:
        if await passkeys.owner(answer) != person.user_id:
            raise Invalid("This passkey is another account's.")
    else:
        passwords.KNOWN.check_capacity()
        await tries.count(person.session_id)
        stored = await _PASSWORD.value(id=person.user_id)
        if not await passwords.matches(stored, password):
            tries.failed(person.workspace, person.email, "wrong password, to confirm", person.address)
            raise Invalid("The password is not right.")
        await tries.forgive(person.session_id)
    await sessions.update(person.session_id, confirmed_at=clock.now())


async def change_password(person: Person, present: str, new: str) -> None:
    """Set another password; sessions elsewhere end. Raise RateLimited, Unavailable, Invalid."""
    await confirm(person, present)
    passwords.check(new, person.email)
    hashed = await passwords.digest(new)
    async with audit.transaction(person, "user.password_changed", person.user_id):
        await _SET_PASSWORD.rows(id=person.user_id, hash=hashed)
        await sessions.end_all(person.user_id, but=person.session_id)
        await password_reset.withdraw(user=person.user_id)
        await notify.tell(person.user_id, "password_changed")


async def _begin(user_id: str, browser: Browser, how: str = "") -> str:
    async with db.transaction():
        account = await _ACCOUNT.row(id=user_id)
        if account is None:
            raise Invalid("This account has just been removed.")
        telemetry.set_workspace(account["workspace_id"])
        if account["suspended"]:
            raise WorkspaceSuspended
        if account["barred"]:
            raise Invalid("Your team signs in by single sign-on, and passwords are off.")
        token = await sessions.begin(user_id, browser)
        entry = audit.Entry("user.signed_in", user_id, how)
        await audit.record(account["workspace_id"], account["email"], entry, browser.address)
    return token
