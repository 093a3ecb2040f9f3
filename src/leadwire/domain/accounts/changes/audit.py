"""Entries of the audit log: who did what to which object, each written in the transaction of its change."""

from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from typing import Final

from msgspec import Struct, structs

from leadwire.domain.accounts.schema import Person
from leadwire.domain.accounts.table import AuditEntry
from leadwire.infrastructure import clock, db, ids
from leadwire.infrastructure.db.statements import insert

_ADD: Final = insert(*AuditEntry.all_columns())


class Entry(Struct):
    """An entry to be written. `action` is `noun.verb`; `subject` and `detail` may be filled in during the change."""

    action: str
    subject: str = ""
    detail: str = ""


async def record(workspace: str | None, actor: str, entry: Entry, address: str = "") -> None:
    """Add an entry; `actor` is an e-mail address, or `operator`. Without a workspace it is about the installation.

    Raise RuntimeError outside a transaction.
    """
    if not db.in_transaction():
        raise RuntimeError(f"{entry.action} noted outside the transaction of its change")
    await _ADD.rows(
        id=ids.new("aud"), workspace_id=workspace, at=clock.now(), actor=actor, address=address, **structs.asdict(entry)
    )


@asynccontextmanager
async def transaction(person: Person, action: str, subject: str = "", detail: str = "") -> AsyncIterator[Entry]:
    """A transaction for a change by the signed-in person; its entry is written when the block ends without an error."""
    async with db.transaction():
        entry = Entry(action, subject, detail)
        yield entry
        await record(person.workspace, person.email, entry, person.address)
