"""Mails to people about their accounts, each queued in the transaction of what it tells."""

from typing import Final

from leadwire.domain.mail import changes as mail
from leadwire.domain.mail import reads as mail_reads
from leadwire.domain.mail.schema import AccountKind
from leadwire.infrastructure import clock
from leadwire.infrastructure.db import Row
from leadwire.infrastructure.db.statements import sql
from leadwire.infrastructure.errors import NotFound

_PEOPLE: Final = """
SELECT u.id, u.workspace_id, l.email, w.name
FROM login l JOIN user_account u ON u.login_id = l.id JOIN workspace w ON w.id = u.workspace_id WHERE"""
# Whom a mail about a login is for, and the account that it goes with: one that is in use, if there is one.
_ACCOUNT: Final = sql(f"{_PEOPLE} l.id = :login ORDER BY w.suspended_at IS NOT NULL, u.created_at, u.id LIMIT 1")
_ADMINS: Final = sql(f"{_PEOPLE} w.id = :workspace AND u.role = 'admin' ORDER BY u.id FOR KEY SHARE OF u")


async def tell(login_id: str, kind: AccountKind, **values: str) -> None:
    """Tell a person what has happened to their login."""
    if mail_reads.enabled():
        await _queue(await _ACCOUNT.one(NotFound("There is no such person."), login=login_id), kind, values)


async def tell_admins(workspace: str, kind: AccountKind, **values: str) -> None:
    """Tell the admins of a workspace what has happened to it."""
    if mail_reads.enabled():
        for admin in await _ADMINS.rows(workspace=workspace):
            await _queue(admin, kind, values)


async def _queue(person: Row, kind: AccountKind, values: dict[str, str]) -> None:
    user_id, workspace, email, name = person
    told = {"workspace": name, "at": f"{clock.now():%d %B %Y at %H:%M} UTC", **values}
    await mail.queue(workspace, kind, email, told, user_id=user_id)
