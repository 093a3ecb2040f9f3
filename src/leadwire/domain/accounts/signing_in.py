"""Signing in: the password, how often it may be tried, the code where one is wanted, and the session that follows."""

import logging

from leadwire.domain.accounts import audit, passwords, second_factor, sessions, throttle
from leadwire.domain.accounts.second_factor import Ticket
from leadwire.domain.accounts.sessions import Person
from leadwire.infrastructure import db, telemetry
from leadwire.infrastructure.errors import Invalid


async def sign_in(email: str, password: str, address: str, agent: str) -> str | Ticket:
    """A new session's token, or a ticket for `give_code`.

    Raises RateLimited, Unavailable; Invalid, the same for a wrong password and an unknown address.
    """
    email = email.strip().lower()
    passwords.check_room()
    await throttle.count(email, address)
    account = await db.row(
        "SELECT id, password_hash, totp_secret IS NOT NULL AS code_wanted FROM user_account WHERE lower(email) = $1",
        email,
    )
    matches = await passwords.matches(account["password_hash"] if account else None, password[: passwords.LONGEST])
    if account is None or not matches:
        # Not in the database: writing for known addresses only would take longer, and so tell which are known.
        telemetry.log("sign_in.refused", level=logging.WARNING, user=account["id"] if account else None)
        raise _wrong()
    await throttle.forgive(email)
    user_id, stored, code_wanted = account
    fresh = await passwords.digest(password) if passwords.outdated(stored) else stored
    async with db.transaction():
        # A compare-and-set: while this was checked, another password may have been set, or a second factor.
        if not await db.value(
            """UPDATE user_account SET password_hash = $3
               WHERE id = $1 AND password_hash = $2 AND (totp_secret IS NOT NULL) = $4 RETURNING id""",
            user_id, stored, fresh, code_wanted,
        ):  # fmt: skip
            raise _wrong()
        return second_factor.ticket(user_id, fresh) if code_wanted else await _begin(user_id, address, agent)


async def give_code(ticket: str, code: str, address: str, agent: str) -> str:
    """A new session's token, for a ticket of `sign_in` and the code of now. Raises RateLimited, Invalid."""
    try:
        user_id = await second_factor.redeem(ticket, code, address)
    except Invalid:
        telemetry.log("sign_in.code_refused", level=logging.WARNING)
        raise
    return await _begin(user_id, address, agent)


async def confirm(me: Person, password: str) -> None:
    """The person at the keyboard is still the one who signed in. Raises RateLimited, Unavailable, Invalid."""
    passwords.check_room()
    await throttle.count(me.email, me.address)
    stored = await db.value("SELECT password_hash FROM user_account WHERE id = $1", me.user_id)
    if not await passwords.matches(stored, password[: passwords.LONGEST]):
        raise Invalid("The password is not right.")
    await throttle.forgive(me.email)
    await sessions.confirm(me.session_id)


async def change_password(me: Person, present: str, new: str) -> None:
    """Another password; sessions elsewhere end. Raises RateLimited, Unavailable, Invalid."""
    await confirm(me, present)
    passwords.check(new, me.email)
    hashed = await passwords.digest(new)
    async with audit.act(me, "user.password_changed", me.user_id):
        await db.rows("UPDATE user_account SET password_hash = $2 WHERE id = $1", me.user_id, hashed)
        await sessions.end_all(me.user_id, but=me.session_id)


async def _begin(user_id: str, address: str, agent: str) -> str:
    async with db.transaction():
        account = await db.row("SELECT workspace_id, email FROM user_account WHERE id = $1", user_id)
        if account is None:
            raise Invalid("This account has just been removed.")
        token = await sessions.begin(user_id, address, agent)
        await audit.record(account["workspace_id"], account["email"], audit.Entry("user.signed_in", user_id), address)
    return token


def _wrong() -> Invalid:
    return Invalid("E-mail or password is not right.")
