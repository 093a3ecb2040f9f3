"""Somebody gets an account in a workspace: of a login of theirs, or with a new one.

What an address says of itself counts for nothing. A login is verified once its mail was opened: by an invitation that
was mailed, and shown to nobody. A provider's word counts as much, if its workspace has proven the domain: whoever has
that can read the mail. One login of an address can be verified; the others are in nobody's way.
"""

from leadwire.domain.accounts import keys, quotas, reads
from leadwire.domain.accounts.audit import changes as audit
from leadwire.domain.accounts.table import Login
from leadwire.infrastructure import clock, db, ids
from leadwire.infrastructure.db.statements import named
from leadwire.infrastructure.errors import Conflict, NotFound

COUNT_PEOPLE, TURN, _NAME, _VERIFIED, _UNVERIFIED, _VOUCH, _USE, _ADD = named(
    __file__, "count_people turn name verified unverified vouch use add"
)


async def add(
    workspace: str,
    email: str,
    role: str,
    address: str,
    *,
    login_id: str | None = None,
    operator: bool = False,
    name: str | None = None,
) -> str:
    """Give a login, or (None) a new one of this address, an account in a workspace. Return its id.

    Runs in the open transaction. Raise Conflict for a colleague, QuotaExceeded.
    """
    await TURN.rows(email=email)
    taken = Conflict("No account can be made with this address. Ask for a link to another one.")
    user_id, now = ids.new("user"), clock.now()
    await _ADD.one(
        taken, id=user_id, workspace_id=workspace, login_id=login_id, email_address=email, name=name, role=role,
        created_at=now, operator=operator,
    )  # fmt: skip
    await quotas.check(workspace, "users", COUNT_PEOPLE, now=now)
    await audit.record(workspace, email, audit.Entry("user.joined", email, role), address)
    return user_id


async def offer(token: str) -> db.Row:
    """What an invitation is for, as `reads.offer`. Raise Conflict where people come by single sign-on alone."""
    offered = await reads.offer(token)
    if offered["sso_enforced"]:
        raise Conflict("Your team signs in by single sign-on. Do so: the account is made then, without this link.")
    return offered


async def join_anew(token: str, email: str, name: str | None, password_hash: str, address: str) -> str:
    """Use an invitation up, with a new login that has this password. Return the account's id.

    Whoever opened a mail has its address: they join with the login that has it already, if there is one, which gets the
    password if it has none. Without mail nobody is told of another login. Runs in the open transaction.

    Raise NotFound, Conflict, QuotaExceeded.
    """
    await TURN.rows(email=email)
    offered = await offer(token)
    verified = await _VERIFIED.row(email=email) if offered["mailed"] else None
    login_id, bare, opens = verified or (None, True, [])
    if not bare:
        raise Conflict("You have an account with this address. Sign in with it to join: nobody has two passwords here.")
    user_id = await _use(token, offered, email, name, address, login_id)
    at, owner = clock.now() if offered["mailed"] else None, login_id or user_id
    await Login.update({Login.password_hash: password_hash, Login.verified_at: at}).where(Login.id == owner)
    for other in opens:  # where a password was good for nothing until now
        await audit.record(other, email, audit.Entry("user.password_changed", owner), address)
    return user_id


async def join(token: str, login_id: str, address: str) -> str:
    """Use an invitation up for somebody who has just signed in with this login. Return the account's id.

    Runs in the open transaction. Raise NotFound, Conflict, QuotaExceeded.
    """
    login = await reads.locked_login(login_id)
    if login is None:
        raise NotFound("This account has just been removed.")
    email = login["email"]
    await TURN.rows(email=email)
    offered = await offer(token)
    if offered["email"] and offered["email"].lower() != email.lower():
        raise Conflict("This invitation is for another address than that of your account.")
    user_id = await _use(token, offered, email, await _NAME.value(login=login_id), address, login_id)
    if offered["mailed"] and not await _VERIFIED.row(email=email):
        await Login.update({Login.verified_at: clock.now()}).where(Login.id == login_id)
    return user_id


async def vouch(workspace: str, user_id: str, email: str) -> None:
    """Verify the login of an account for whose address a provider vouches, where the workspace has proven the domain.

    Not one that opens another workspace, nor beside another of this address: it could be somebody else's. Runs in the
    open transaction.
    """
    if login_id := await _UNVERIFIED.value(user=user_id, email=email):
        await TURN.rows(email=email)
        await _VOUCH.rows(login=login_id, email=email, workspace=workspace, at=clock.now())


async def _use(
    token: str, offered: db.Row, email: str, name: str | None, address: str, login_id: str | None = None
) -> str:
    used = await _USE.one(NotFound("This link has been used."), hash=keys.digest(token))
    to = offered["workspace_id"], email, offered["role"], address
    return await add(*to, login_id=login_id, operator=used["operator"], name=name)
