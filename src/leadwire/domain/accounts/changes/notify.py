"""Mails about accounts, each queued in the transaction of what it tells."""

from typing import Final

from leadwire.domain.accounts.schema import Role
from leadwire.domain.accounts.table import Workspace
from leadwire.domain.mail import changes as mail
from leadwire.domain.mail import reads as mail_reads
from leadwire.domain.mail.schema import AccountKind
from leadwire.infrastructure import clock
from leadwire.infrastructure.db.statements import param, sql, statement
from leadwire.infrastructure.errors import NotFound

_NAME: Final = statement(Workspace.select("name").where(Workspace.id == param("workspace")))
# Whom a mail about an account is for.
_ACCOUNT: Final = sql("""
SELECT u.workspace_id, u.email, w.name FROM user_account u JOIN workspace w ON w.id = u.workspace_id
WHERE u.id = :user""")


async def tell(user_id: str, kind: AccountKind, **values: str) -> None:
    """Tell a person what has happened to their account."""
    if mail_reads.enabled():
        workspace, email, name = await _ACCOUNT.one(NotFound("There is no such person."), user=user_id)
        told = {"workspace": name, "at": f"{clock.now():%d %B %Y at %H:%M} UTC", **values}
        await mail.queue(workspace, kind, email, told, user_id=user_id)


async def invite(workspace: str, email: str, role: Role, path: str, *, by: str, days: int) -> None:
    """Send the link of an invitation."""
    name = await _NAME.value(workspace=workspace)
    inviter = "The operator" if by == "operator" else by
    values = {"by": inviter, "workspace": name, "role": role, "path": path, "days": days}
    await mail.queue(workspace, "invitation", email, values)
