"""What `leadwire migrate` will do to tables that are in use: what it locks, what it reads, and which changes wait."""

import functools
import re
from typing import Any, Final, cast

import msgspec

from leadwire.infrastructure.db import steps
from leadwire.infrastructure.db.migrations import FOLDER, lacking
from leadwire.infrastructure.db.statements import sql

_BODY: Final = re.compile(r"\$\$.*?\$\$", re.DOTALL)
_LOCKED: Final = re.compile(r"\b(?:ALTER TABLE|TRIGGER \w+ (?:BEFORE|AFTER) .*? ON|REFERENCES) (\w+)")
_READ: Final = re.compile(r"\b(?:CONCURRENTLY \w+ ON|FROM|JOIN|USING|UPDATE) (\w+)")
_TABLE: Final = re.compile(r"(?:ALTER TABLE|INDEX \w+ ON) (\w+)")
_VALIDATED: Final = re.compile(r"ALTER TABLE (\w+) VALIDATE CONSTRAINT")
# What reads all rows under a lock that keeps changes out.
_SCANS: Final = re.compile(
    r"ALTER TABLE \w+ (?:.*, )?(?:"
    r"ADD (?:CONSTRAINT \w+ )?(?:CHECK|FOREIGN|PRIMARY|UNIQUE|EXCLUDE)\b(?!.*NOT VALID)"
    r"|ADD COLUMN[^,]*\b(?:CHECK|UNIQUE|PRIMARY|GENERATED|DEFAULT (?!now\(\))\w+\()"
    r"|ALTER COLUMN \w+ (?:SET NOT NULL|(?:SET DATA )?TYPE\b))"
    r"|CREATE (?:UNIQUE )?INDEX (?!CONCURRENTLY)"
)
_COPIES: Final = re.compile(r"DO\b.*\bCOMMIT\b")  # in batches
# What holds a lock of each row that it changes until it has changed the last.
_WRITES: Final = re.compile(r"(?:WITH .*)?\b(?:UPDATE|DELETE FROM) \w+|DO\b(?!.*\bCOMMIT\b)")
_SIZES: Final = sql("""
SELECT t.relname AS name, sum(pg_table_size(p.oid))::bigint AS size FROM pg_class t
JOIN pg_class p ON p.oid = t.oid OR p.oid IN (SELECT inhrelid FROM pg_inherits WHERE inhparent = t.oid)
WHERE t.relnamespace = to_regnamespace('public') AND t.relkind IN ('r', 'p') GROUP BY 1""")


class Step(msgspec.Struct, frozen=True):
    """Names of tables that were there before. What it locks it locks for a moment."""

    statement: str
    locks: frozenset[str]
    reads: frozenset[str]
    stops: bool
    """Whether changes of what it reads wait until it has read all rows."""
    copies: bool = False
    """Whether it copies what it reads, in batches."""


class Planned(msgspec.Struct):
    """A migration, and the steps of it that are to be taken; none where the database is new."""

    migration: str
    description: str
    steps: list[Step]


def effects(script: str) -> list[Step]:
    """Tell what each statement of a script does to tables that it does not make itself. Pure."""
    tables = steps.made(script)
    return [_effect(statement, tables) for statement in steps.split(script)]


def _effect(statement: str, new_tables: frozenset[str]) -> Step:
    text = steps.line(statement)
    if not text.startswith("DO"):
        text = _BODY.sub("", text)
    locks, reads, stops = frozenset(_LOCKED.findall(text)) - new_tables, frozenset[str](), False
    if validated := _VALIDATED.match(text):
        locks, reads = frozenset(), frozenset(validated.groups())
    elif _SCANS.match(text):
        reads = frozenset(_TABLE.findall(text)) - new_tables
        stops = bool(reads)
    elif "CONCURRENTLY" in text or not text.startswith("CREATE"):
        reads = frozenset(_READ.findall(text)) - new_tables
        stops = bool(_WRITES.match(text))
    return Step(steps.headline(statement), locks - reads, reads, stops, bool(_COPIES.match(text)))


async def scripts() -> dict[str, tuple[str, str]]:
    """Return the description and the script of steps of every migration, by its id."""
    from piccolo.apps.migrations.commands.base import BaseMigrationManager

    managers = [
        await module.forwards() for module in BaseMigrationManager().get_migration_modules(str(FOLDER)).values()
    ]
    return {
        manager.migration_id: (manager.description, cast("functools.partial[Any]", manager.raw[0]).args[2])
        for manager in managers
    }


async def plan() -> tuple[list[Planned], dict[str, int]]:
    """Return what is missing, in order, and the bytes of each table. Raise OperatorError for another history."""
    every_script, sizes = await scripts(), {row["name"]: row["size"] for row in await _SIZES.rows()}
    missing = await lacking()
    new = len(missing) == len(every_script)
    done = set() if new else await steps.noted()
    planned = []
    for migration in missing:
        description, script = every_script[migration]
        named = enumerate(effects(script), 1)
        taken = [] if new else [step for number, step in named if f"{migration} {number}" not in done]
        planned.append(Planned(migration, description, taken))
    return planned, sizes
