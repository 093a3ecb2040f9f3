"""Mails to people about their accounts, each queued in the transaction of what it tells."""

import contextlib

from leadwire.domain.mail import changes as mail
from leadwire.domain.mail import reads as mail_reads
from leadwire.domain.mail.schema import AccountKind
from leadwire.infrastructure import clock
from leadwire.infrastructure.db import Row
from leadwire.infrastructure.db.statements import named
from leadwire.infrastructure.errors import Invalid, NotFound

_ACCOUNT, _ADMINS = named(__file__, "account admins")


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
    with contextlib.suppress(Invalid):  # an address from before they were checked: nothing fails for it
        await mail.queue(workspace, kind, email, told, user_id=user_id)
