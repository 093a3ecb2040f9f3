"""Mails to people about their accounts, each queued in the transaction of what it tells."""

from typing import Final

from leadwire.domain.mail import changes as mail
from leadwire.domain.mail import reads as mail_reads
from leadwire.domain.mail.schema import AccountKind
from leadwire.infrastructure import clock
from leadwire.infrastructure.db.statements import sql
from leadwire.infrastructure.errors import NotFound

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
