"""Invitations: one-time links to an account, the first administrator's included. There is no default password."""

import secrets
from datetime import timedelta
from typing import Final

from piccolo.querystring import QueryString

from leadwire.domain.accounts import keys, passwords, quotas, reads
from leadwire.domain.accounts.changes import audit, notify, sign_in_limits, sso
from leadwire.domain.accounts.schema import Role
from leadwire.domain.accounts.table import Invitation, UserAccount
from leadwire.domain.mail.compose import address as normalized
from leadwire.infrastructure import clock, db, ids, telemetry
from leadwire.infrastructure.db.statements import columns, insert, param, sql, statement
from leadwire.infrastructure.errors import Conflict, NotFound, invalid_field

LIFE: Final = timedelta(days=3)

_OF_WORKSPACE: Final = Invitation.workspace_id == param("workspace")
_SAME_EMAIL: Final = QueryString("lower({}) = lower({})", UserAccount.email, param("email"))
_TO_EMAIL: Final = QueryString("{} IS NOT DISTINCT FROM {}", Invitation.email, param("email"))
_COLLEAGUE: Final = statement(
    UserAccount.select("id").where(UserAccount.workspace_id == param("workspace"), _SAME_EMAIL)
)
_REPLACE: Final = statement(Invitation.delete().where(_OF_WORKSPACE, _TO_EMAIL))
_ADD: Final = insert(*Invitation.all_columns())
_WITHDRAW: Final = statement(
    Invitation.delete().where(_OF_WORKSPACE, Invitation.id == param("id")).returning(Invitation.email)
)
_USE: Final = statement(Invitation.delete().where(Invitation.hash == param("hash")).returning(Invitation.id))
_ADD_USER: Final = insert(
    *columns(UserAccount, "id workspace_id email role password_hash created_at"),
    end="ON CONFLICT ((lower(email))) DO NOTHING RETURNING id",
)
# The people of a workspace and its open invitations, in one number.
COUNT_PEOPLE: Final = sql("""
SELECT (SELECT count(*) FROM user_account WHERE workspace_id = :workspace)
    + (SELECT count(*) FROM invitation WHERE workspace_id = :workspace AND expires_at > :now)""")


async def invite(workspace: str, email: str | None, role: Role, by: str = "operator", address: str = "") -> str:
    """Return the token of a new link; it replaces open links to the same address.

    Does not tell whether another workspace has an account with the address. Raise Invalid, QuotaExceeded; Conflict for
    a colleague; RateLimited where links are mailed.
    """
    email = normalized(email) if email is not None else None
    if email:
        await notify.count_invitation(workspace, email)
    async with db.transaction():
        if email and await _COLLEAGUE.row(workspace=workspace, email=email):
            raise Conflict(f"{email} has an account already.")
        await _REPLACE.rows(workspace=workspace, email=email)
        token, now = secrets.token_urlsafe(32), clock.now()
        await _ADD.rows(
            id=ids.new("inv"), workspace_id=workspace, email=email, role=role,
            hash=keys.digest(token), created_at=now, expires_at=now + LIFE,
        )  # fmt: skip
        await quotas.check(workspace, "users", COUNT_PEOPLE, now=now)
        await audit.record(workspace, by, audit.Entry("user.invited", email or "", role), address)
        if email:
            await notify.invite(workspace, email, role, f"/join/{token}", by=by, days=LIFE.days)
    return token


async def withdraw(workspace: str, invitation_id: str) -> str:
    """Let a link lead nowhere. Return whom it was for, or an empty string. Raise NotFound."""
    missing = NotFound("There is no such link: it has been used, replaced or withdrawn.")
    return (await _WITHDRAW.one(missing, workspace=workspace, id=invitation_id))["email"] or ""


async def accept(token: str, email: str, password: str, address: str = "") -> str:
    """Make the account and use the link up. Return the user's id.

    A link may be tried five times in five minutes: it is no way to ask which addresses have an account.
    Raise NotFound, Invalid, RateLimited, Unavailable, QuotaExceeded.
    """
    # Before anything is hashed: only who has a link may cost that much.
    workspace, _, invited, role = await reads.offer(token)
    telemetry.set_workspace(workspace)
    if await sso.is_enforced(workspace):
        raise Conflict("Your team signs in by single sign-on. Do so: the account is made then, without this link.")
    passwords.KNOWN.check_capacity()
    await sign_in_limits.count(f"link {token}")
    email = invited or normalized(email)
    passwords.check(password, email)
    hashed = await passwords.digest(password)
    async with db.transaction():
        await _USE.one(NotFound("This link has been used."), hash=keys.digest(token))
        made: str | None = await _ADD_USER.value(
            id=ids.new("user"), workspace_id=workspace, email=email, role=role,
            password_hash=hashed, created_at=clock.now(),
        )  # fmt: skip
        if made is None:
            message = "No account can be made with this address. Ask for a link to another one."
            raise invalid_field("/email", "wrong_value", message)
        await quotas.check(workspace, "users", COUNT_PEOPLE, now=clock.now())
        await audit.record(workspace, email, audit.Entry("user.joined", email, role), address)
    return made
