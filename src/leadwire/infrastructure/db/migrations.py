"""Migrations: which there are, which a database has, and how it is brought to this version's tables."""

import asyncio
import contextlib
import contextvars
import functools
import importlib.util
import io
import logging
import os
import re
import sys
from pathlib import Path
from typing import TYPE_CHECKING, Final

from leadwire.infrastructure import db
from leadwire.infrastructure.db import locks, steps
from leadwire.infrastructure.errors import OperatorError

if TYPE_CHECKING:  # half a second to import, and only a migration needs it
    from piccolo.apps.migrations.auto.migration_manager import MigrationManager

_PACKAGE: Final = Path(__file__).resolve().parents[2]
_CHECKOUT: Final = _PACKAGE.parents[1]
_SHIPPED: Final = _PACKAGE / "migrations"

FOLDER: Final = _SHIPPED if _SHIPPED.is_dir() else _CHECKOUT / "migrations"
"""Inside the package in a wheel, else at the top of the checkout."""
FOREIGN_FIX: Final = "go on with the version that made it, or begin with an empty database"

_ID: Final = re.compile(r'^ID = "(.+)"$', re.MULTILINE)
_LOOK: Final = 0.2  # seconds between looks at whether others are done, or make us wait

_log = logging.getLogger("leadwire")


@functools.cache
def files() -> dict[str, Path]:
    """Return the file of every migration of this version, by its id. Read, not imported: readiness asks for them."""
    return {migration: file for file in FOLDER.glob("[0-9]*.py") for migration in _ID.findall(file.read_text())}


async def migrate() -> int:
    """Apply what is missing; return how many migrations that were. The pool must be open, with three connections.

    A new database is made in one transaction. One that is in use is changed in steps beside its processes: see `steps`.
    Two at once wait for each other, and what was stopped goes on where it was. Raise OperatorError.
    """
    while True:
        async with db.transaction():
            if await db.value("SELECT pg_try_advisory_xact_lock(7221)"):
                return await _migrate()
        await asyncio.sleep(_LOOK)  # in no transaction: the other one's indexes wait for whoever has a snapshot


async def lacking() -> list[str]:
    """Return the ids that the database lacks, in order. Raise OperatorError where it has another history."""
    ours, unknown = await difference()
    if fault := foreign(ours, unknown):
        raise OperatorError(f"{fault}: {FOREIGN_FIX}")
    return ours


async def difference() -> tuple[list[str], list[str]]:
    """Return the ids this database lacks, and those it has that this version does not know. Both in order."""
    ours, theirs = files().keys(), await _applied()
    return sorted(ours - theirs), sorted(theirs - ours)


def foreign(missing: list[str], unknown: list[str]) -> str:
    """Return what is wrong with a database that has another history than ours, or nothing."""
    if not (missing and unknown):
        return ""
    return f"the database has {len(unknown)} migrations of another history, from {unknown[0]}, and lacks {len(missing)}"


async def missing() -> str | None:
    """Return a line for people that says what the database lacks, or None when it is up to date, or newer."""
    try:
        count = len(await lacking())
    except OperatorError as fault:
        return str(fault)
    return f"{count} migrations are missing: run `leadwire migrate`" if count else None


def migration(migration_id: str, description: str, up: str, down: str) -> "MigrationManager":
    """Return a migration made of two SQL scripts, each any number of statements. `steps` says how `up` runs.

    A file beside it, with the suffix `.sql`, does the same to tables that are in use, if `up` would stop changes.
    """
    from piccolo.apps.migrations.auto.migration_manager import MigrationManager

    manager = MigrationManager(migration_id, "leadwire", description=description, wrap_in_transaction=False)
    beside = files()[migration_id].with_suffix(".sql")
    online = beside.read_text() if beside.exists() else up
    manager.add_raw(functools.partial(steps.run, migration_id, up, online))
    manager.add_raw_backwards(functools.partial(steps.run_at_once, migration_id, down))
    return manager


async def _migrate() -> int:
    missing = await lacking()
    # Reading the migrations may take some seconds, applying them minutes. In use, it is the last statement of this
    # transaction, which then only keeps others out: a query would leave a snapshot.
    await db.rows("SET LOCAL idle_in_transaction_session_timeout = 0")
    if len(missing) == len(files()):
        await _forwards()
    elif missing:
        outside = contextvars.copy_context()
        outside.run(db.DB.current_transaction.set, None)
        await asyncio.create_task(_forwards_watched(), context=outside)
    return len(missing)


async def _forwards() -> None:
    _configure()
    from piccolo.apps.migrations.commands.forwards import run_forwards

    output = io.StringIO()
    with contextlib.redirect_stdout(output):
        result = await run_forwards("all")
    if not result.success:
        raise OperatorError(f"The migrations did not run: {result.message or output.getvalue().strip()}")
    await steps.forget()


async def _forwards_watched() -> None:
    """Say meanwhile who makes it wait."""
    task, named = asyncio.create_task(_forwards()), set()
    try:
        while not (await asyncio.wait([task], timeout=_LOOK))[0]:
            for blocker in await locks.blockers(_LOOK):
                if blocker.pid not in named:
                    _log.warning("%s", blocker.says)
                named.add(blocker.pid)
        await task
    finally:
        task.cancel()


def _configure() -> None:
    """Tell Piccolo where its configuration is: in a wheel, or in a checkout whatever the current directory."""
    if importlib.util.find_spec("leadwire.piccolo_conf"):
        os.environ["PICCOLO_CONF"] = "leadwire.piccolo_conf"
    else:
        os.environ["PICCOLO_CONF"] = "piccolo_conf"
        sys.path.append(str(_CHECKOUT))


async def _applied() -> set[str]:
    if await db.value("SELECT to_regclass('migration') IS NULL"):
        return set()
    return {row["name"] for row in await db.rows("SELECT name FROM migration WHERE app_name = 'leadwire'")}
