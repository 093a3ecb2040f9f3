"""The full check of the ledger, which reads every delivery. It is made in the background, once a day and when somebody
asks for it; its result is kept.
"""

from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from datetime import datetime

import msgspec
from msgspec import Struct
from piccolo.columns import Boolean, Text, Timestamptz
from piccolo.table import Table
from redis.asyncio import Redis

from leadwire.delivery.monitoring import ledger
from leadwire.delivery.monitoring.ledger import Check
from leadwire.infrastructure import db, jobs
from leadwire.infrastructure.db import DB
from leadwire.infrastructure.db.declared import Declared
from leadwire.infrastructure.db.statements import named
from leadwire.infrastructure.settings import Settings

_ASK, _LAST, _DUE, _CONFIGURE, _KEEP = named(__file__, "ask last due configure keep")


class LedgerCheck(Table, db=DB, tablename="ledger_check"):
    """The last full check: one row at most."""

    declared = Declared(of="")
    alone = Boolean(primary_key=True)
    asked_at = Timestamptz()
    checked_at = Timestamptz(null=True, default=None)  # when the last check began
    result = Text(null=True, default=None)  # JSON: `Result`


class Result(Struct, frozen=True):
    """What a check found, and whether Redis could be asked."""

    checks: list[Check]
    redis_was_there: bool


class Last(Struct, frozen=True):
    """The last check, and when it began. `due`: one is asked for that has not ended."""

    at: datetime | None = None
    result: Result | None = None
    due: bool = True


async def last() -> Last:
    """Return the last check: without a time and a result before the first one."""
    row = await _LAST.row()
    if not row or row[0] is None:
        return Last()
    return Last(row[0], msgspec.json.decode(row[1], type=Result), not row[2])


async def ask() -> None:
    """Ask for a check. One that is being made was asked for earlier: another one follows it."""
    async with db.transaction():
        await _ASK.rows()
        await jobs.add("ledger", "")


async def check_if_due(redis: Redis | None, settings: Settings) -> None:
    """Make the check, unless none is due."""
    if now := await _DUE.value():
        with db.acting_as("maintenance"):  # however long it takes
            result = Result(*await ledger.check(redis, settings, apart=_reading))
            await _KEEP.rows(at=now, result=msgspec.json.encode(result).decode())


@asynccontextmanager
async def _reading() -> AsyncIterator[None]:
    """One of the checks: between two of them, nobody who changes a table waits for us."""
    async with db.transaction():
        await _CONFIGURE.rows()
        yield
