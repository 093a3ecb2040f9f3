"""Migrations: which there are, which a database has, and how it is brought to this version's tables."""

import contextlib
import functools
import importlib.util
import io
import os
import re
import sys
from pathlib import Path
from typing import TYPE_CHECKING, Final

from leadwire.infrastructure import db
from leadwire.infrastructure.errors import OperatorError

if TYPE_CHECKING:  # half a second to import, and only a migration needs it
    from piccolo.apps.migrations.auto.migration_manager import MigrationManager

_PACKAGE: Final = Path(__file__).resolve().parents[2]
_CHECKOUT: Final = _PACKAGE.parents[1]
_SHIPPED: Final = _PACKAGE / "migrations"

FOLDER: Final = _SHIPPED if _SHIPPED.is_dir() else _CHECKOUT / "migrations"
"""Inside the package in a wheel, else at the top of the checkout."""

_ID: Final = re.compile(r'^ID = "(.+)"$', re.MULTILINE)


@functools.cache
def ids() -> frozenset[str]:
    """Return the id of every migration of this version. Read, not imported: readiness asks for them."""
    return frozenset(found for file in FOLDER.glob("[0-9]*.py") for found in _ID.findall(file.read_text()))


async def migrate() -> int:
    """Apply what is missing; return how many migrations that were. The pool must be open.

    Everything, Piccolo's own bookkeeping included, is one transaction under an advisory lock: two at once wait for
    each other, and a failed one changes nothing. Raise OperatorError.
    """
    _configure()
    from piccolo.apps.migrations.commands.forwards import run_forwards

    output = io.StringIO()
    async with db.transaction():
        await db.rows("SELECT pg_advisory_xact_lock(7221)")
        before = await _applied()
        with contextlib.redirect_stdout(output):
            result = await run_forwards("all")
        after = await _applied()
    if not result.success:
        raise OperatorError(f"The migrations did not run: {result.message or output.getvalue().strip()}")
    return len(after - before)


async def difference() -> tuple[list[str], list[str]]:
    """Return the ids this database lacks, and those it has that this version does not know. Both in order."""
    ours, theirs = ids(), await _applied()
    return sorted(ours - theirs), sorted(theirs - ours)


async def missing() -> str | None:
    """Return a line for people that says what the database lacks, or None when it is up to date, or newer."""
    lacking, _ = await difference()
    return f"{len(lacking)} migrations are missing: run `leadwire migrate`" if lacking else None


def migration(migration_id: str, description: str, up: str, down: str) -> "MigrationManager":
    """Return a migration made of two SQL scripts, each any number of statements in one transaction."""
    from piccolo.apps.migrations.auto.migration_manager import MigrationManager

    manager = MigrationManager(migration_id=migration_id, app_name="leadwire", description=description)

    async def run(script: str) -> None:
        async with db.DB.transaction() as transaction:
            await transaction.connection.execute(script)

    manager.add_raw(functools.partial(run, up))
    manager.add_raw_backwards(functools.partial(run, down))
    return manager


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
