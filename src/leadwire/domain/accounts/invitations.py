"""One-time links: how a person comes to an account, the first administrator included. There is no default password."""

import hashlib
import secrets
from datetime import datetime, timedelta
from typing import Final

import msgspec

from leadwire.domain.accounts import audit, emails, passwords, quotas, throttle
from leadwire.domain.accounts.roles import Role
from leadwire.infrastructure import clock, db, ids
from leadwire.infrastructure.errors import Conflict, FieldError, Invalid, NotFound

LIFE: Final = timedelta(days=3)
_PEOPLE: Final = """
SELECT (SELECT count(*) FROM user_account WHERE workspace_id = $1)
    + (SELECT count(*) FROM invitation WHERE workspace_id = $1 AND expires_at > $2)"""


class Offer(msgspec.Struct, frozen=True):
    """What an open link leads to. `email` is None when whoever opens it chooses."""

    workspace: str
    workspace_name: str
    email: str | None
    role: Role


class OpenLink(msgspec.Struct, frozen=True):
    """A link that nobody has used yet. Its token is kept nowhere."""

    id: str
    email: str | None
    role: Role
    expires_at: datetime


async def invite(workspace: str, email: str | None, role: Role, by: str = "operator", address: str = "") -> str:
    """Make a link's token; it replaces open links to the same address.

    Whether another workspace has an account with the address is not told. Raises Invalid, QuotaExceeded; Conflict for
    a colleague.
    """
    email = emails.normal(email) if email is not None else None
    async with db.transaction():
        if email and await db.value(
            "SELECT id FROM user_account WHERE workspace_id = $1 AND lower(email) = lower($2)", workspace, email
        ):
            raise Conflict(f"{email} has an account already.")
        await db.rows(
            "DELETE FROM invitation WHERE workspace_id = $1 AND email IS NOT DISTINCT FROM $2", workspace, email
        )
        token, now = secrets.token_urlsafe(32), clock.now()
        await db.rows(
            """INSERT INTO invitation (id, workspace_id, email, role, hash, created_at, expires_at)
               VALUES ($1, $2, $3, $4, $5, $6, $7)""",
            ids.new("inv"), workspace, email, role, _digest(token), now, now + LIFE,
        )  # fmt: skip
        await quotas.check(workspace, "users", _PEOPLE, now)
        await audit.record(workspace, by, audit.Entry("user.invited", email or "", role), address)
    return token


async def listed(workspace: str) -> list[OpenLink]:
    """The links that can still be used, newest first."""
    found = await db.rows(
        """SELECT id, email, role, expires_at FROM invitation WHERE workspace_id = $1 AND expires_at > $2
           ORDER BY created_at DESC, id DESC""",
        workspace, clock.now(),
    )  # fmt: skip
    return [OpenLink(*row) for row in found]


async def withdraw(workspace: str, invitation_id: str) -> str:
    """Let a link lead nowhere. Answers whom it was for, perhaps nobody in particular. Raises NotFound."""
    gone = await db.row(
        "DELETE FROM invitation WHERE workspace_id = $1 AND id = $2 RETURNING email", workspace, invitation_id
    )
    if gone is None:
        raise NotFound("There is no such link: it has been used, replaced or withdrawn.")
    return gone["email"] or ""


async def offer(token: str) -> Offer:
    """What the link leads to. Raises NotFound: never made, used, replaced, or older than three days."""
    found = await db.row(
        """SELECT i.workspace_id, w.name, i.email, i.role FROM invitation i JOIN workspace w ON w.id = i.workspace_id
           WHERE i.hash = $1 AND i.expires_at > $2""",
        _digest(token), clock.now(),
    )  # fmt: skip
    if found is None:
        raise NotFound("This link has been used, replaced, or is too old. Ask for a new one.")
    return Offer(*found)


async def accept(token: str, email: str, password: str, address: str = "") -> str:
    """Make the account, use the link up. Answers the user's id.

    A link may be tried five times in five minutes: it is no way to ask which addresses have an account.
    Raises NotFound, Invalid, RateLimited, Unavailable, QuotaExceeded.
    """
    offered = await offer(token)  # before anything is hashed: only who has a link may cost that much
    passwords.check_room()
    await throttle.count(f"link {token}", address)
    email = offered.email or emails.normal(email)
    passwords.check(password, email)
    hashed = await passwords.digest(password)
    async with db.transaction():
        if not await db.value("DELETE FROM invitation WHERE hash = $1 RETURNING id", _digest(token)):
            raise NotFound("This link has been used.")
        made: str | None = await db.value(
            """INSERT INTO user_account (id, workspace_id, email, role, password_hash, created_at)
               VALUES ($1, $2, $3, $4, $5, $6) ON CONFLICT ((lower(email))) DO NOTHING RETURNING id""",
            ids.new("user"), offered.workspace, email, offered.role, hashed, clock.now(),
        )  # fmt: skip
        if made is None:
            message = "No account can be made with this address. Ask for a link to another one."
            raise Invalid(message, faults=(FieldError("wrong_value", message, "/email"),))
        await quotas.check(offered.workspace, "users", _PEOPLE, clock.now())
        await audit.record(offered.workspace, email, audit.Entry("user.joined", email, offered.role), address)
    return made


def _digest(token: str) -> bytes:
    return hashlib.sha256(token.encode()).digest()
