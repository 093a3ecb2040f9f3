"""Signing in: by password, with a second factor where the account has one, or by passkey; and the session that follows.

Who signs in from a browser that the account's owner has used before is not held up by strangers, see `sessions`.
"""

from collections.abc import Sequence

from leadwire.domain.accounts import joining, keys, networks, notify, reads
from leadwire.domain.accounts.audit import changes as audit
from leadwire.domain.accounts.schema import Person
from leadwire.domain.accounts.sign_in import passwords, tries
from leadwire.domain.accounts.sign_in.changes import passkeys, password_reset, second_factor, sessions
from leadwire.domain.accounts.sign_in.changes.passkeys import Answer
from leadwire.domain.accounts.sign_in.changes.sessions import Browser
from leadwire.domain.accounts.table import Login
from leadwire.infrastructure import clock, db, email_address, telemetry
from leadwire.infrastructure.db.statements import named
from leadwire.infrastructure.errors import Invalid, RateLimited

_BY_EMAIL, _ACCOUNTS, _STILL = named(__file__, "by_email accounts still")


async def sign_in(email: str, password: str, browser: Browser, invitation: str = "") -> tuple[str, bool]:
    """Return a new session's token or, where a second factor is wanted, a ticket for it; and whether one is.

    With the token of an `invitation`, this is used up, and its workspace is opened. Else that which was used last.
    Raise RateLimited, Unavailable; Invalid, the same for a wrong password and an unknown address; WorkspaceSuspended
    when the password was right; what `joining.join` raises.
    """
    email = email_address.normal(email)
    wrong = Invalid("E-mail or password is not right.")
    logins = await _BY_EMAIL.rows(email=email)
    login = await _of_password(logins, email, password, browser)
    if login is None:
        # Written later: doing so now for known addresses would take longer, and so tell which are known.
        tries.failed(
            (account for login in logins for account in login["workspaces"]), email, "wrong password", browser.address
        )
        telemetry.warn("sign_in.refused", user=logins[0]["id"] if logins else None)
        raise wrong
    _, login_id, stored, code_wanted, _ = login
    fresh = await passwords.digest(password) if passwords.outdated(stored) else stored
    async with db.transaction():
        # Alone first: a statement that waits for whoever adds a passkey would not see it.
        await reads.locked_login(login_id)
        if not await _STILL.row(id=login_id, stored=stored, fresh=fresh, code_wanted=code_wanted):
            raise wrong
        if code_wanted:
            return second_factor.ticket(login_id, fresh), True
        return await _begin(login_id, browser, invitation), False


async def give_code(ticket: str, code: str, browser: Browser, invitation: str = "") -> str:
    """Return a new session's token, for a ticket of `sign_in` and the present code. Raise RateLimited, Invalid."""
    async with db.transaction():  # else another password might be set between the two, and end no such session
        try:
            login_id = await second_factor.redeem(ticket, code, browser.address)
        except Invalid:
            telemetry.warn("sign_in.code_refused")
            raise
        return await _begin(login_id, browser, invitation)


async def give_passkey(answer: Answer, ticket: str, browser: Browser, invitation: str = "") -> str:
    """Return a new session's token, for a passkey; with a ticket of `sign_in`, for one of the same account.

    Raise Invalid.
    """
    async with db.transaction():  # else the passkey might be removed between the two
        try:
            login_id = await passkeys.owner(answer)
            if ticket and (await second_factor.holder(ticket))[0] != login_id:
                raise Invalid("This passkey is another account's.")
        except Invalid:
            telemetry.warn("sign_in.passkey_refused")
            raise
        return await _begin(login_id, browser, invitation, "by passkey")


async def confirm(person: Person, password: str, answer: Answer | None = None) -> None:
    """Check, by the password or what one of their passkeys answered, that the person is still the one who signed in.

    Raise RateLimited, Unavailable, Invalid.
    """
    if person.provider:
        raise Invalid("Confirm at the provider that you signed in through.")
    if answer:
        if await passkeys.owner(answer) != person.login_id:
            raise Invalid("This passkey is another account's.")
    else:
        passwords.KNOWN.check_capacity()
        # A switch of the workspace makes another session, and carries this time on.
        await tries.count(holder := f"{person.login_id} {person.confirmed_at.timestamp()}")
        login = await Login.select(Login.password_hash).where(Login.id == person.login_id).first()
        if not await passwords.matches(login["password_hash"] if login else None, password):
            tries.failed([person.workspace], person.email, "wrong password, to confirm", person.address)
            raise Invalid("The password is not right.")
        await tries.forgive(holder)
    await sessions.update(person.session_id, confirmed_at=clock.now())


async def change_password(person: Person, present: str, new: str) -> None:
    """Set another password; sessions elsewhere end. Raise RateLimited, Unavailable, Invalid, Conflict."""
    await confirm(person, present)
    passwords.check(new, person.email)
    hashed = await passwords.digest(new)
    async with audit.transaction(person, "user.password_changed", person.user_id, login_id=person.login_id):
        await sessions.lock_login(person)
        await Login.update({Login.password_hash: hashed}).where(Login.id == person.login_id)
        await sessions.end_all(person.login_id, but=person.session_id)
        await password_reset.withdraw(person.login_id)
        await notify.tell(person.login_id, "password_changed")


async def _of_password(logins: Sequence[db.Row], email: str, password: str, browser: Browser) -> db.Row | None:
    """The login of an address that has this password. Raise RateLimited, Unavailable.

    To a login that has not seen the browser it is a stranger's, whatever other login of the address has seen it. What
    is counted, hashed and answered is the same where there is no other: it may be somebody else's.
    """
    mark = keys.digest(browser.mark).hex()
    known = [login for login in logins if mark in login["known_browsers"]]
    holder = f"{email} {mark}" if known else ""
    if known:
        passwords.KNOWN.check_capacity()
        await tries.count(holder)
        for login in known:
            if await passwords.matches(login["password_hash"], password):
                await tries.forgive(holder)
                return login
    passwords.STRANGERS.check_capacity()
    try:
        await tries.count_stranger(email, browser.address, holder)
    except RateLimited:
        if known:
            return None
        raise
    others = [login for login in logins if login not in known]
    if not others:  # it takes as long
        await passwords.matches(None, password, passwords.STRANGERS)
    for login in others:
        if await passwords.matches(login["password_hash"], password, passwords.STRANGERS):
            await tries.forgive_stranger(email, browser.address, holder)
            return login
    return None


async def _begin(login_id: str, browser: Browser, invitation: str, how: str = "") -> str:
    async with db.transaction():
        joined = await joining.join(invitation, login_id, browser.address) if invitation else ""
        accounts = await _ACCOUNTS.rows(login=login_id)
        if accounts and all(account["suspended"] for account in accounts):
            raise await reads.why_closed(accounts[0]["workspace_id"])
        user_id, workspace, email = _chosen(accounts, browser, joined)
        telemetry.set_workspace(workspace)
        token = await sessions.begin(user_id, browser)
        await audit.record(workspace, email, audit.Entry("user.signed_in", user_id, how), browser.address)
    return token


def _chosen(accounts: Sequence[db.Row], browser: Browser, joined: str) -> tuple[str, str, str]:
    """Id, workspace and address of the account to open: the one just joined, else the first that may be opened, if
    there is one from where the browser is. Raise Invalid.
    """
    if not accounts:
        raise Invalid("This account has just been removed.")
    opened = [
        account for account in accounts if account["id"] == joined or not (account["suspended"] or account["barred"])
    ]
    if not opened:
        raise Invalid("Your team signs in by single sign-on, and passwords are off.")
    opened.sort(
        key=lambda account: (account["id"] != joined, not networks.overlap(browser.address, account["networks"]))
    )
    return opened[0]["id"], opened[0]["workspace_id"], opened[0]["email"]
