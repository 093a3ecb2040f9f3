"""The people of a workspace: invited by one-time links, the first administrator included; their roles; their end.

There is no default password.
"""

import asyncio
import secrets
from collections.abc import Awaitable, Callable
from datetime import timedelta
from typing import Final, TypeVar

from piccolo.columns.combination import Where

from leadwire.domain.accounts import joining, keys, quotas
from leadwire.domain.accounts.audit import changes as audit
from leadwire.domain.accounts.changes.table import RemovedPerson
from leadwire.domain.accounts.schema import Role, full_name, has_role
from leadwire.domain.accounts.sign_in.changes import password_reset, sessions
from leadwire.domain.accounts.sign_in.changes.sessions import Browser
from leadwire.domain.accounts.table import Invitation, UserAccount, Workspace
from leadwire.domain.mail import changes as mail
from leadwire.domain.mail import reads as mail_reads
from leadwire.domain.mail.compose import address as normalized
from leadwire.infrastructure import clock, db, ids, telemetry
from leadwire.infrastructure.db.queries import query
from leadwire.infrastructure.db.statements import insert, named
from leadwire.infrastructure.errors import Conflict, DomainError, Forbidden, NotFound, Unavailable
from leadwire.infrastructure.rate_limit import RateLimit

T = TypeVar("T")

LIFE: Final = timedelta(days=3)
LET_GO: Final[list[Callable[[str, str], Awaitable[None]]]] = []
"""What the packages above do in the transaction in which somebody (a workspace, a user) answers visitors no more: in
processes that have imported them, so also by the command that removes somebody.
"""

_TO_ONE: Final = RateLimit("invitations-to", 5, window=3600)
_BY_ONE: Final = RateLimit("invitations-of", 100, window=3600)

_COLLEAGUE, _PATIENCE, _PATIENT_AGAIN = named(__file__, "colleague patience patient_again")
_ADD: Final = insert(*Invitation.all_columns())
_REMOVED: Final = insert(*RemovedPerson.all_columns(), end="ON CONFLICT DO NOTHING")
_TRIES: Final = 10
_LOOK: Final = 0.1  # seconds


async def invite(
    workspace: str,
    email: str | None,
    role: Role,
    by: str = "operator",
    address: str = "",
    *,
    operator: bool = False,
) -> str:
    """Return the token of a new link; it replaces open links to the same address. Its account may be an `operator`.

    An operator is shown the link, so theirs proves no address. Does not tell whether another workspace has an account
    with the address. Raise Invalid, QuotaExceeded; Conflict for a colleague; RateLimited where links are mailed: 5 an
    hour to one address, 100 from a workspace.
    """
    email = normalized(email) if email is not None else None
    for limit, of in ((_TO_ONE, email), (_BY_ONE, workspace)) if email and mail_reads.enabled() else ():
        await limit.claim(of, "Too many invitations. Wait an hour.")
    async with db.transaction():
        if email:
            await joining.TURN.rows(email=email)
            if await _COLLEAGUE.row(workspace=workspace, email=email):
                raise Conflict(f"{email} has an account already.")
            await Invitation.delete().where(Invitation.workspace_id == workspace, Invitation.email == email)
        token, now = secrets.token_urlsafe(32), clock.now()
        await _ADD.rows(
            id=ids.new("inv"), workspace_id=workspace, email=email, role=role, operator=operator,
            mailed=bool(email) and mail_reads.enabled() and by != "operator",
            hash=keys.digest(token), created_at=now, expires_at=now + LIFE,
        )  # fmt: skip
        await quotas.check(workspace, "users", joining.COUNT_PEOPLE, now=now)
        await audit.record(workspace, by, audit.Entry("user.invited", email or "", role), address)
        if email:
            (name,) = await Workspace.select(Workspace.name).where(Workspace.id == workspace).output(as_list=True)
            inviter = "The operator" if by == "operator" else by
            values = {"by": inviter, "workspace": name, "role": role, "path": f"/join/{token}", "days": LIFE.days}
            await mail.queue(workspace, "invitation", email, values)
    return token


@query("There is no such link: it has been used, replaced or withdrawn.")
async def withdraw(workspace: str, invitation_id: str) -> str:
    """Let a link lead nowhere. Return whom it was for, or an empty string. Raise NotFound."""


async def accept(token: str, email: str, password: str, browser: Browser, name: str = "") -> str:
    """Make the account with a login of its own, use the link up, and sign its owner in. Return the session's token.

    A link may be tried a few times only: it is no way to ask which addresses have an account.
    Raise NotFound, Conflict, Invalid, RateLimited, Unavailable, QuotaExceeded.
    """
    offered = await joining.offer(token)  # before anything is hashed: only who has a link may cost that much
    telemetry.set_workspace(offered["workspace_id"])
    email = offered["email"] or normalized(email)
    hashed = await password_reset.hashed_for(token, email, password)
    async with db.transaction():
        user_id = await joining.join_anew(token, email, full_name(name), hashed, browser.address)
        return await sessions.begin(user_id, browser, joins=True)


async def remove_user(workspace: str, user_id: str, by: str = "") -> str:
    """End an account and its sessions, and with their last account a person's login. Return its e-mail address.

    Raise NotFound; Forbidden where the account `by` is no admin any more; Conflict for the last admin; Unavailable
    while others hold what goes with it.
    """

    async def remove() -> str:
        email, _ = await _lock_user(workspace, user_id, by, stays_admin=False)
        await _let_go(workspace, user_id)
        await UserAccount.delete().where(*_is(workspace, user_id))
        await _REMOVED.rows(workspace_id=workspace, email=email.lower(), removed_at=clock.now())
        return email

    return await _patiently(remove)


async def rename(workspace: str, user_id: str, name: str) -> str | None:
    """Say what a user is called. Return what is kept of it; None: nothing, so that they go by their address."""
    kept = full_name(name)
    await UserAccount.update({UserAccount.name: kept}).where(*_is(workspace, user_id))
    return kept


async def change_role(workspace: str, user_id: str, role: Role, by: str = "") -> tuple[str, str]:
    """Give a user another role. Return their e-mail address and the role before. Raise as `remove_user`.

    Who is no admin any more is no operator either, nor is one again with the role: the command line alone makes them.
    """

    async def change() -> tuple[str, str]:
        email, before = await _lock_user(workspace, user_id, by, stays_admin=role == "admin")
        await UserAccount.update({UserAccount.role: role}).where(*_is(workspace, user_id))
        if role != "admin":
            await UserAccount.update({UserAccount.operator: False}).where(*_is(workspace, user_id))
        if not has_role(role, "agent"):
            await _let_go(workspace, user_id)
        return email, before

    return await _patiently(change)


async def set_operator(workspace: str, user_id: str, *, operator: bool) -> str:
    """Let an admin see all workspaces, or no longer. Return their e-mail address. Raise Conflict when they are none."""
    admin = (*_is(workspace, user_id), UserAccount.role == "admin")
    rows = await UserAccount.update({UserAccount.operator: operator}).where(*admin).returning(UserAccount.email)
    if not rows:
        raise Conflict("An operator is an admin: let them be one first.")
    return str(rows[0]["email_address"])


async def _let_go(workspace: str, user_id: str) -> None:
    for change in LET_GO:
        await change(workspace, user_id)


async def _patiently(work: Callable[[], Awaitable[T]]) -> T:
    """Do a change of a person in a transaction. Raise Unavailable while others hold what belongs to them.

    The person's own request may have locked that, and wait for their row: then this lets go of it, and begins again.
    """
    for _ in range(_TRIES):
        async with db.transaction():
            let_go = await db.savepoint()
            try:
                await _PATIENCE.rows()
                result = await work()
                await _PATIENT_AGAIN.rows()
                return result
            except (DomainError, db.Locked, db.Deadlock) as error:
                await let_go()
                if isinstance(error, DomainError):
                    raise
        await asyncio.sleep(_LOOK)
    raise Unavailable("They are changing something themselves. Try again.")


def _is(workspace: str, user_id: str) -> tuple[Where, Where]:
    return UserAccount.workspace_id == workspace, UserAccount.id == user_id


async def _lock_user(workspace: str, user_id: str, by: str, *, stays_admin: bool) -> tuple[str, str]:
    """A user's address and role. Locks the rows of all users, so that the last two admins cannot both be removed, nor
    two remove each other.
    """
    columns = UserAccount.id, UserAccount.email, UserAccount.role, UserAccount.break_glass
    users = UserAccount.select(*columns).where(UserAccount.workspace_id == workspace).order_by(UserAccount.id)
    people = await users.lock_rows("NO KEY UPDATE")  # what refers to them can be written meanwhile
    person = next((row for row in people if row["id"] == user_id), None)
    admins = [row["id"] for row in people if row["role"] == "admin"]
    if by and by not in admins:
        raise Forbidden("You have just been removed, or are no admin any more.")
    if person is None:
        raise NotFound("There is no such person in the team.")
    if not stays_admin and admins == [user_id]:
        raise Conflict("The last admin stays one: make somebody else an admin first.")
    if not stays_admin and person["break_glass"]:
        raise Conflict("An emergency account stays an admin: let it be none first, under Single sign-on.")
    return person["email_address"], person["role"]
