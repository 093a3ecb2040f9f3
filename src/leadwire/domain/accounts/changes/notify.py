"""Mails about accounts, each queued in the transaction of what it tells."""

from typing import Final

from leadwire.domain.accounts.schema import Role
from leadwire.domain.accounts.table import Workspace
from leadwire.domain.mail import changes as mail
from leadwire.domain.mail import reads as mail_reads
from leadwire.domain.mail.schema import AccountKind
from leadwire.infrastructure import clock
from leadwire.infrastructure.db.statements import param, sql, statement
from leadwire.infrastructure.errors import NotFound, RateLimited
from leadwire.infrastructure.rate_limit import RateLimit

_NAME: Final = statement(Workspace.select("name").where(Workspace.id == param("workspace")))
# Whom a mail about an account is for.
_ACCOUNT: Final = sql("""
SELECT u.workspace_id, u.email, w.name FROM user_account u JOIN workspace w ON w.id = u.workspace_id
WHERE u.id = :user""")

_WINDOW: Final = 3600  # seconds
_TO_ONE: Final = RateLimit("invitations-to", 5, window=_WINDOW)
_OF_WORKSPACE: Final = RateLimit("invitations-of", 100, window=_WINDOW)


async def tell(user_id: str, kind: AccountKind, **values: str) -> None:
    """Tell a person what has happened to their account."""
    if mail_reads.enabled():
        workspace, email, name = await _ACCOUNT.one(NotFound("There is no such person."), user=user_id)
        told = {"workspace": name, "at": f"{clock.now():%d %B %Y at %H:%M} UTC", **values}
        await mail.queue(workspace, kind, email, told, user_id=user_id)


async def count_invitation(workspace: str, email: str) -> None:
    """Count a mail to somebody who may not want any. Raise RateLimited: 5 an hour to one, 100 from a workspace."""
    for limit, of in ((_TO_ONE, email), (_OF_WORKSPACE, workspace)):
        if mail_reads.enabled() and not await limit.take_at_once(of):
            raise RateLimited("Too many invitations. Wait an hour.", headers={"Retry-After": str(_WINDOW)})


async def invite(workspace: str, email: str, role: Role, path: str, *, by: str, days: int) -> None:
    """Send the link of an invitation."""
    name = await _NAME.value(workspace=workspace)
    inviter = "The operator" if by == "operator" else by
    values = {"by": inviter, "workspace": name, "role": role, "path": path, "days": days}
    await mail.queue(workspace, "invitation", email, values)
