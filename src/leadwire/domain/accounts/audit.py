"""The audit log: who did what to which object. An entry is written in the transaction of the change it tells of."""

from collections.abc import AsyncIterator
from contextlib import asynccontextmanager

import msgspec

from leadwire.domain.accounts.sessions import Person
from leadwire.infrastructure import clock, db, ids


class Entry(msgspec.Struct):
    """What is about to be noted. `action` is `noun.verb`; `subject` and `detail` may be filled in during the change."""

    action: str
    subject: str = ""
    detail: str = ""


async def record(workspace: str, actor: str, entry: Entry, address: str = "") -> None:
    """Note that `actor` (an e-mail address, or `operator`) did something. Raises RuntimeError outside a transaction."""
    if not db.in_transaction():
        raise RuntimeError(f"{entry.action} noted outside the transaction of its change")
    await db.rows(
        """INSERT INTO audit_entry (id, workspace_id, at, actor, action, subject, detail, address)
           VALUES ($1, $2, $3, $4, $5, $6, $7, $8)""",
        ids.new("aud"), workspace, clock.now(), actor, entry.action, entry.subject, entry.detail, address,
    )  # fmt: skip


@asynccontextmanager
async def act(me: Person, action: str, subject: str = "", detail: str = "") -> AsyncIterator[Entry]:
    """A transaction for a change by the signed-in person; its entry is written when the block ends well."""
    async with db.transaction():
        entry = Entry(action, subject, detail)
        yield entry
        await record(me.workspace, me.email, entry, me.address)
