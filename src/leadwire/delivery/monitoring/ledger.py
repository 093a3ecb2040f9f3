"""The full check of the ledger, which reads every delivery. A relay makes it in the background, once a day and when
somebody asks for it; its result is kept.
"""

import asyncio
import time
from datetime import datetime
from typing import Final

import msgspec
from msgspec import Struct
from redis.asyncio import Redis

from leadwire.delivery.monitoring import invariants
from leadwire.delivery.monitoring.invariants import Check
from leadwire.infrastructure import db
from leadwire.infrastructure.db.statements import sql
from leadwire.infrastructure.loop import Loop
from leadwire.infrastructure.settings import Settings

_EVERY: Final = 2.0  # seconds between looks whether a check is due

_ASK: Final = sql("INSERT INTO ledger_check (alone) VALUES (true) ON CONFLICT (alone) DO UPDATE SET asked_at = now()")
_LAST: Final = sql("SELECT checked_at, result, checked_at >= asked_at FROM ledger_check")
_FRESH: Final = sql("""
SELECT EXISTS (SELECT 1 FROM ledger_check WHERE checked_at >= asked_at AND checked_at > now() - interval '1 day')""")
# The lock is this transaction's, which has no number until it writes: it holds back no reader of the outbox.
_TRY: Final = sql("SELECT pg_try_advisory_xact_lock(hashtextextended('ledger check', 0))")
# Connections of the relay read by indexes alone, with plans that are kept, and no transaction of theirs may idle for
# long. Here, whole tables are read, and Redis may take its time to answer, or not to.
_CONFIGURE: Final = sql("""
SELECT set_config(name, value, true) FROM (VALUES ('enable_seqscan', 'on'), ('enable_hashjoin', 'on'),
    ('enable_mergejoin', 'on'), ('plan_cache_mode', 'force_custom_plan'),
    ('idle_in_transaction_session_timeout', '10min')) AS chosen (name, value)""")
_KEEP: Final = sql("""
INSERT INTO ledger_check (alone, checked_at, result) VALUES (true, now(), :result)
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
    found = await _LAST.row()
    if not found or found[0] is None:
        return Last()
    return Last(found[0], msgspec.json.decode(found[1], type=Result), not found[2])


async def ask() -> None:
    """Ask for a check. One that is being made was asked for earlier: another one follows it."""
    await _ASK.rows()


async def check_if_due(redis: Redis | None, settings: Settings) -> None:
    """Make the check, unless none is due or another process makes it."""
    if await _FRESH.value():
        return
    with db.acting_as("maintenance"):  # however long it takes
        async with db.transaction():
            if await _TRY.value() and not await _FRESH.value():
                await _CONFIGURE.rows()
                found = Result(*await invariants.check(redis, settings))
                await _KEEP.rows(result=msgspec.json.encode(found).decode())


async def run(stop: asyncio.Event, redis: Redis, settings: Settings) -> None:
    """Check whenever it is due, until `stop` is set. Any number of processes may do so at once."""

    async def look() -> float:
        began = time.monotonic()
        try:
            await check_if_due(redis, settings)
        except Exception:  # what fails late, such as for lack of disk, would keep the server busy with nothing else
            await asyncio.sleep(time.monotonic() - began)
            raise
        return _EVERY

    checking = asyncio.create_task(Loop("ledger", look).run(stop))
    await stop.wait()
    checking.cancel()  # a check may take minutes: it is due again
    await asyncio.wait([checking])
