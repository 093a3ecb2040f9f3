"""Mails are queued in the transaction of their cause, and deleted; addresses that were refused are suppressed.

What came of sending them is in `attempts`.
"""

from collections.abc import Mapping
from typing import Any

import msgspec

from leadwire.domain.mail import compose, reads
from leadwire.domain.mail.schema import JOBS, URGENT, Contents, Kind
from leadwire.domain.mail.table import Mail
from leadwire.infrastructure import clock, db, ids, jobs, secret_box
from leadwire.infrastructure.db.queries import query
from leadwire.infrastructure.db.statements import named

(_ADD,) = named(__file__, "add")


async def queue(
    workspace: str,
    kind: Kind,
    recipient: str,
    values: Mapping[str, Any] | None = None,
    *,
    user_id: str | None = None,
    about: str | None = None,
    unsubscribe: str = "",
) -> bool:
    """Queue a mail in the transaction of its cause. Return False where it would not be sent, see `reads.reaches`.

    `values` are what the template of `kind` names; links are paths. A mail with a `user_id` goes with the account, one
    `about` a conversation with its erasure. `unsubscribe` is the path that ends further mails of this kind.
    Raise Invalid for what is no address; RuntimeError outside a transaction.
    """
    if not db.in_transaction():
        raise RuntimeError(f"{kind} queued outside the transaction of its cause")
    if not reads.enabled():
        return False
    recipient = compose.address(recipient)
    if not await reads.reaches(workspace, recipient):
        return False
    contents = msgspec.json.encode(Contents(dict(values or {}), unsubscribe))
    mail_id, priority = ids.new("mail"), int(kind not in URGENT)
    data = secret_box.get().seal(contents.decode(), secret_box.place(Mail.data, mail_id))
    await _ADD.rows(
        id=mail_id, workspace_id=workspace, user_id=user_id, about=about, kind=kind, recipient=recipient,
        data=data, priority=priority, created_at=clock.now(),
    )  # fmt: skip
    await jobs.add(JOBS[priority], mail_id, workspace)
    return True


@query()
async def suppress(workspace: str, address: str, reason: str) -> None:
    """Send this address nothing more, until an admin lifts that."""


@query("Mail to this address is not stopped.")
async def lift(workspace: str, address: str) -> None:
    """Send mail to this address again. Raise NotFound."""
