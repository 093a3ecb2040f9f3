"""Signing in: the password, how often it may be tried, and the session that follows."""

import logging

from leadwire import db, telemetry
from leadwire.accounts import audit, passwords, sessions, throttle
from leadwire.accounts.sessions import Person
from leadwire.errors import Invalid


async def sign_in(email: str, password: str, address: str, agent: str) -> str:
    """A new session's token. Raises RateLimited; Invalid, the same for a wrong password and an unknown address."""
    email = email.strip().lower()
    await throttle.count(email, address)
    account = await db.row(
        "SELECT id, workspace_id, email, password_hash FROM user_account WHERE lower(email) = $1", email
    )
    matches = await passwords.matches(account["password_hash"] if account else None, password[: passwords.LONGEST])
    if account is None or not matches:
        # Not in the database: writing for known addresses only would take longer, and so tell which are known.
        telemetry.log("sign_in.refused", level=logging.WARNING, user=account["id"] if account else None)
        raise Invalid("E-mail or password is not right.")
    await throttle.forgive(email)
    user_id, workspace, known_as, stored = account
    fresh = await passwords.digest(password) if passwords.outdated(stored) else stored
    async with db.transaction():
        await db.rows("UPDATE user_account SET password_hash = $2 WHERE id = $1", user_id, fresh)
        token = await sessions.begin(user_id, address, agent)
        await audit.record(workspace, known_as, audit.Entry("user.signed_in", user_id), address)
    return token


async def confirm(me: Person, password: str) -> None:
    """The person at the keyboard is still the one who signed in. Raises RateLimited, Invalid."""
    await throttle.count(me.email, me.address)
    stored = await db.value("SELECT password_hash FROM user_account WHERE id = $1", me.user_id)
    if not await passwords.matches(stored, password[: passwords.LONGEST]):
        raise Invalid("The password is not right.")
    await throttle.forgive(me.email)
    await sessions.confirm(me.session_id)


async def change_password(me: Person, present: str, new: str) -> None:
    """Another password; sessions elsewhere end. Raises RateLimited, Invalid."""
    await confirm(me, present)
    passwords.check(new, me.email)
    hashed = await passwords.digest(new)
    async with audit.act(me, "user.password_changed", me.user_id):
        await db.rows("UPDATE user_account SET password_hash = $2 WHERE id = $1", me.user_id, hashed)
        await sessions.end_all(me.user_id, but=me.session_id)
