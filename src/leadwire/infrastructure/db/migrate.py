"""Bring a database to this version's tables, once, whoever else is trying at the same time."""

import contextlib
import importlib.util
import io
import os
import sys
from pathlib import Path

from leadwire.infrastructure import db
from leadwire.infrastructure.db import migrations
from leadwire.infrastructure.errors import OperatorError

_CHECKOUT = str(Path(__file__).resolve().parents[4])


async def migrate() -> int:
    """Apply what is missing; answers how many migrations that were. The pool must be open.

    Everything, Piccolo's own bookkeeping included, is one transaction under an advisory lock: two at once wait for
    each other and a failed one leaves nothing half done. Raises OperatorError.
    """
    _configure()
    from piccolo.apps.migrations.commands.forwards import run_forwards

    said = io.StringIO()
    async with db.transaction():
        await db.rows("SELECT pg_advisory_xact_lock(7221)")
        before = await _applied()
        with contextlib.redirect_stdout(said):
            result = await run_forwards("all")
        after = await _applied()
    if not result.success:
        raise OperatorError(f"The migrations did not run: {result.message or said.getvalue().strip()}")
    return len(after - before)


async def difference() -> tuple[list[str], list[str]]:
    """The ids of the migrations that this database lacks, and of those that it has and we do not know. In order."""
    ours, theirs = migrations.ids(), await _applied()
    return sorted(ours - theirs), sorted(theirs - ours)


async def missing() -> str | None:
    """What this version needs and the database has not, for people; None when it is up to date, or further."""
    lacking, _ = await difference()
    return f"{len(lacking)} migrations are missing: run `leadwire migrate`" if lacking else None


def _configure() -> None:
    if importlib.util.find_spec("leadwire.piccolo_conf"):  # a wheel
        os.environ["PICCOLO_CONF"] = "leadwire.piccolo_conf"
    else:  # a checkout, whatever the current directory is
        os.environ["PICCOLO_CONF"] = "piccolo_conf"
        sys.path.append(_CHECKOUT)


async def _applied() -> set[str]:
    if await db.value("SELECT to_regclass('migration') IS NULL"):
        return set()
    return {row["name"] for row in await db.rows("SELECT name FROM migration WHERE app_name = 'leadwire'")}
