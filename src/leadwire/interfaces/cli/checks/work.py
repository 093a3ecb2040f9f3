"""Whether work succeeds, which is more than that a server answers: who waits for whom, and a change that is undone."""

import asyncio
from collections.abc import Callable
from typing import Final

from leadwire.delivery.monitoring import holders
from leadwire.domain.search import reads as documents
from leadwire.domain.webhooks import system
from leadwire.infrastructure import db
from leadwire.infrastructure.db.locks import blockers
from leadwire.infrastructure.db.statements import named
from leadwire.infrastructure.jobs import reads as jobs
from leadwire.interfaces.cli.checks.finding import Finding, unless

_OLDEST: Final = 1_000_000_000  # transactions; at 2,146,483,648 the server takes no changes
_NAMED: Final = 3
_AGAIN: Final = 0.3  # seconds
_MOST_DEAD: Final = 500_000  # rows
_LEAST_FREE: Final = 0.1  # of a disk
_OF_PROCESSES: Final = ("NothingKnown", "ProcessMissing")

_PATIENCE, _TABLES, _FILL, _ARCHIVER, _AGE = named(__file__, "patience tables fill archiver age")


class _GivenBack(Exception):
    """Nothing is committed: a commit may wait for a standby that is gone."""


async def locks(others: Callable[[], bool]) -> Finding:
    """Whether anybody makes others wait for longer than a second, perhaps `others`: checks that have not finished."""
    sessions = await blockers()
    while not sessions and others():
        await asyncio.sleep(_AGAIN)
        sessions = await blockers()
    says = "; ".join(session.says for session in sessions[:_NAMED])
    return unless(bool(sessions), "locks", says or "nobody makes others wait", pid=sessions[0].pid if sessions else 0)


async def change() -> Finding:
    """Whether a change could be made: what it needs is taken, and given back. Raise what the server raises."""
    try:
        async with db.transaction():
            await _PATIENCE.rows()
            await db.rows(f"LOCK TABLE {await _TABLES.value()} IN ROW EXCLUSIVE MODE")
            await _FILL.rows()
            raise _GivenBack
    except db.Locked as error:
        return unless(True, "changes", f"one waits for longer than 2 s: {error}")
    except _GivenBack:
        return unless(False, "changes", "one can be made")


async def archiver() -> Finding:
    """Whether the log is archived; until it is, all of it is kept on the disk."""
    row = await _ARCHIVER.row()
    says = f"{row['last_failed_wal']} was refused {row['seconds']} s ago" if row else "nothing was refused"
    return unless(row is not None, "archive of the log", says)


async def space() -> Finding:
    """Whether the server's disk has room; it is known where its files are on this machine."""
    disk = await holders.disk()
    if not disk:
        return Finding("space", "ok", "not known from here; ask the disk of PostgreSQL: df -h")
    says = f"{disk.free >> 20:,} MiB of {disk.total >> 20:,} MiB are free at {disk.folder}"
    return unless(disk.free < _LEAST_FREE * disk.total, "space", says)


async def dead_rows() -> Finding:
    """Whether vacuum keeps up with the tables of open work, which are read all the time."""
    dead, table = max((dead, table) for table, dead in (await holders.dead_rows()).items())
    return unless(dead > _MOST_DEAD, "dead rows", f"{table}: {dead:,.0f}", table=table)


async def search() -> Finding:
    """Whether leads and conversations are found by their words."""
    complete = await documents.complete()
    return unless(not complete, "search", "everything is found" if complete else "what is older is not found yet")


async def age() -> Finding:
    """Whether a database comes close to where the server stops to take changes."""
    (row,) = await _AGE.rows()
    says = f"{row['datname']}: {row['age']:,} transactions of 2,146,483,648"
    return unless(row["age"] > _OLDEST, "age of transactions", says)


async def firing(patience: float) -> list[Finding]:
    """What the page System shows. That a process is missing is none before any has been started. `patience`: seconds
    until Redis counts as away.
    """
    present = await system.now(patience=patience)
    attended = present.background_seconds is not None and present.background_seconds <= jobs.UNATTENDED
    started = present.workers or attended or present.overdue.deliveries or present.unrelayed.events
    findings = [
        Finding(
            condition.name,
            "error" if condition.severity == "page" else "warning",
            condition.says,
            f"{condition.command}; what to do is told at /docs/{condition.runbook}",
        )
        for condition in await system.firing(present)
        if started or condition.name not in _OF_PROCESSES
    ]
    return findings or [Finding("conditions", "ok", "nothing is firing")]
