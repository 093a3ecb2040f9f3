"""Entries of the audit log: who did or read what, each written in the transaction of its change.

They name fields of leads, never what these hold: an erasure could not reach that, because entries are chained
(`audit.jobs`).
"""

import asyncio
import time
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from decimal import Decimal
from typing import Any, Final

from msgspec import Struct, structs

from leadwire.domain.accounts.audit.chain import weight
from leadwire.domain.accounts.schema import Person
from leadwire.infrastructure import clock, db, ids
from leadwire.infrastructure.db.statements import named

LONGEST: Final = 8000
"""Characters of a detail that are kept: an entry has to fit into a webhook."""
_BUNDLED: Final = 900.0  # seconds in which one person's reads of one thing are one entry
_REMEMBERED: Final = 50_000

_ADD, _OPENED = named(__file__, "add opened")

_read: dict[tuple[str, str, str, str], float] = {}  # who read what, and until when, by time.monotonic
_noting: dict[tuple[str, str, str, str], asyncio.Event] = {}  # what is being noted, and what tells that it was tried


class Entry(Struct):
    """An entry to be written. `action` is `noun.verb`; `subject` and `detail` may be filled in during the change."""

    action: str
    subject: str = ""
    detail: str = ""
    login_id: str = ""
    """Whose login was changed: the log of each workspace that it opens has the entry."""


async def record(workspace: str | None, actor: str, entry: Entry, address: str = "") -> None:
    """Add an entry; `actor` is an e-mail address, or `operator`. Without a workspace it is about the installation.

    One about a login is in each log that it belongs to; where its subject is an account, each log names its own.

    Raise RuntimeError outside a transaction.
    """
    if not db.in_transaction():
        raise RuntimeError(f"{entry.action} noted outside the transaction of its change")
    accounts = [tuple(row) for row in await _OPENED.rows(login=entry.login_id)] if entry.login_id else []
    own = {entry.login_id, *(user_id for _, user_id in accounts)}
    for there, user_id in accounts or [(workspace, entry.subject)]:
        subject = user_id if entry.subject in own else entry.subject
        await _add(there, actor, structs.replace(entry, subject=subject), address)


@asynccontextmanager
async def transaction(
    person: Person, action: str, subject: str = "", detail: str = "", login_id: str = ""
) -> AsyncIterator[Entry]:
    """A transaction for a change by the signed-in person; its entry is written when the block ends without an error."""
    async with db.transaction():
        entry = Entry(action, subject, detail, login_id)
        yield entry
        await record(person.workspace, person.email, entry, person.address)


async def record_read(person: Person, entry: Entry) -> None:
    """Note that a person is about to be shown personal data; again only after a quarter of an hour.

    Each process counts for itself. Who reads the same meanwhile waits, and notes it where that has failed.
    """
    key, now = (person.user_id, entry.action, entry.subject, entry.detail), time.monotonic()
    while tried := _noting.get(key):
        await tried.wait()
    if _read.get(key, now) > now:
        return
    _noting[key] = tried = asyncio.Event()
    try:
        await _add(person.workspace, person.email, entry, person.address)
    finally:
        del _noting[key]
        tried.set()
    if len(_read) >= _REMEMBERED:
        _read.clear()
    _read[key] = now + _BUNDLED


async def _add(workspace: str | None, actor: str, entry: Entry, address: str) -> None:
    row: dict[str, Any] = {"action": entry.action, "subject": entry.subject, "detail": entry.detail[:LONGEST]}
    row |= {"id": ids.new("aud"), "at": clock.now(), "workspace_id": workspace, "actor": actor, "address": address}
    await _ADD.rows(**row, digest=Decimal(weight(row)))
