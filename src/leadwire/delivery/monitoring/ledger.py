"""The full check of the ledger, which reads every delivery. It is made in the background, once a day and when somebody
asks for it; its result is kept.
"""

from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from datetime import datetime
from typing import Final

import msgspec
from msgspec import Struct
from redis.asyncio import Redis

from leadwire.delivery.monitoring import invariants
from leadwire.delivery.monitoring.invariants import Check
from leadwire.infrastructure import db, jobs
from leadwire.infrastructure.db.statements import sql
from leadwire.infrastructure.settings import Settings

_ASK: Final = sql("INSERT INTO ledger_check (alone) VALUES (true) ON CONFLICT (alone) DO UPDATE SET asked_at = now()")
_LAST: Final = sql("SELECT checked_at, result, checked_at >= asked_at FROM ledger_check")
# The time, if a check is due.
_DUE: Final = sql("""
SELECT now() WHERE NOT EXISTS (
    SELECT 1 FROM ledger_check WHERE checked_at >= asked_at AND checked_at > now() - interval '1 day')""")
# Connections of this process read by indexes alone, with plans that are kept, and no transaction of theirs may idle for
# long. Here, whole tables are read, and Redis may take its time to answer, or not to.
_CONFIGURE: Final = sql("""
SELECT set_config(name, value, true) FROM (VALUES ('enable_seqscan', 'on'), ('enable_hashjoin', 'on'),
    ('enable_mergejoin', 'on'), ('plan_cache_mode', 'force_custom_plan'),
    ('idle_in_transaction_session_timeout', '10min')) AS chosen (name, value)""")
_KEEP: Final = sql("""
INSERT INTO ledger_check (alone, asked_at, checked_at, result) VALUES (true, :at, :at, :result)
ON CONFLICT (alone) DO UPDATE SET checked_at = excluded.checked_at, result = excluded.result""")


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
            result = Result(*await invariants.check(redis, settings, apart=_reading))
            await _KEEP.rows(at=now, result=msgspec.json.encode(result).decode())


@asynccontextmanager
async def _reading() -> AsyncIterator[None]:
    """One of the checks: between two of them, nobody who changes a table waits for us."""
    async with db.transaction():
        await _CONFIGURE.rows()
        yield
