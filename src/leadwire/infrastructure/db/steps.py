"""The steps of a migration: how its script runs beside processes that serve.

Each statement is a transaction of its own, so that no lock outlasts it. An index of a table that was there before is
built CONCURRENTLY, of one with partitions for each of them. A statement that gets no lock in time gives way, and is
tried again after a pause that grows. What is done is noted with it: a migration that was stopped goes on where it was.
"""

import asyncio
import logging
import re
import time
from collections.abc import Awaitable, Callable, Iterator
from contextlib import AbstractAsyncContextManager, suppress
from functools import partial
from typing import Final

import asyncpg

from leadwire.infrastructure import db
from leadwire.infrastructure.errors import OperatorError

NOTED: Final = "leadwire steps"
"""In Piccolo's table of migrations: the name of the app whose migrations are steps."""
PATIENCE: Final = 600.0  # seconds
# Whoever comes later waits behind a statement that waits, so it does not wait for long. Less than `deadlock_timeout`,
# which is 1 s: in a deadlock with a request it is the migration that gives way.
_GIVE_WAY: Final = "SET LOCAL lock_timeout = '400ms'"
_PAUSES: Final = (0.5, 8.0)  # seconds: the first, the longest

_STATEMENT: Final = re.compile(r"(?:--[^\n]*|'[^']*'|\$\$.*?\$\$|[^;])+", re.DOTALL)
_COMMENT: Final = re.compile(r"--[^\n]*")
_COMMENTS: Final = re.compile(r"\A(?:\s|--[^\n]*(?:\n|\Z))+")
_MADE: Final = re.compile(r"\bCREATE TABLE (\w+)")
_INDEX: Final = re.compile(r"CREATE (?:UNIQUE )?INDEX (?P<name>\w+) ON (?P<table>\w+)")
_CONCURRENTLY: Final = re.compile(r"(CREATE (?:UNIQUE )?INDEX) CONCURRENTLY (?P<name>\w+) ON (?P<table>\w+)")
_IN_BATCHES: Final = re.compile(r"DO \$\$.*\bCOMMIT\b", re.DOTALL)
_WITHOUT: Final = """
SELECT inhrelid::regclass::text FROM pg_inherits partition WHERE inhparent = $1::regclass AND NOT EXISTS (
    SELECT FROM pg_index JOIN pg_inherits joined ON joined.inhrelid = indexrelid
    WHERE indrelid = partition.inhrelid AND joined.inhparent = $2::regclass
) ORDER BY 1 LIMIT 1"""

_log = logging.getLogger("leadwire")


async def run(migration_id: str, script: str, online: str) -> None:
    """Run a script at once, where the tables are made in the open transaction; else the steps of `online`.

    Raise OperatorError.
    """
    if db.in_transaction() or db.DB.connections is None:  # no pool: Piccolo's own command line
        await run_at_once(migration_id, script)
        return
    done = await noted()
    for number, step in enumerate(split(online), 1):
        if (name := f"{migration_id} {number}") not in done:
            await _patiently(partial(_take, step, name), step)


async def run_at_once(migration_id: str, script: str) -> None:
    """Run a script in one transaction. Raise OperatorError."""
    try:
        if db.DB.connections is None:
            connection = await db.DB.get_new_connection()
            await connection.execute(script)
            await connection.close()
            return
        async with db.transaction():
            await db.DB.current_transaction.get().connection.execute(script)
    except asyncpg.PostgresError as error:
        raise OperatorError(f"migration {migration_id}: {error}") from error


async def noted() -> set[str]:
    """Return which steps are taken, of migrations that are not complete: the id of each, and its number from 1."""
    return {row["name"] for row in await db.rows("SELECT name FROM migration WHERE app_name = $1", NOTED)}


async def forget() -> None:
    """Remove the notes of steps, whose migrations are complete."""
    await db.rows("DELETE FROM migration WHERE app_name = $1", NOTED)


def split(script: str) -> Iterator[str]:
    """Yield the statements of a script, without the comments before each; indexes of tables that it does not make are
    built CONCURRENTLY.
    """
    new = made(script)
    for part in _STATEMENT.findall(script):
        step = _COMMENTS.sub("", part).rstrip()
        if (index := _INDEX.match(step)) and index["table"] not in new:
            step = step.replace("INDEX", "INDEX CONCURRENTLY", 1)
        if step:
            yield step


def made(script: str) -> frozenset[str]:
    """The names of the tables that a script makes."""
    return frozenset(_MADE.findall(script))


def line(step: str) -> str:
    """A statement in one line, without comments."""
    return " ".join(_COMMENT.sub("", step).split())


def headline(step: str) -> str:
    return line(step)[:80]


async def alone(step: str, transaction: Callable[[], AbstractAsyncContextManager[None]] = db.transaction) -> None:
    """Run a statement that locks a table in a transaction of its own, as often as it needs. Raise OperatorError."""

    await _patiently(partial(_briefly, step, transaction), step)


async def _patiently(take: Callable[[], Awaitable[None]], step: str) -> None:
    end, (pause, longest) = time.monotonic() + PATIENCE, _PAUSES
    while True:
        try:
            return await take()
        except (db.Locked, db.Deadlock) as error:
            if time.monotonic() > end:
                raise OperatorError(f"{headline(step)}: no lock within {PATIENCE:g} s; run it again later") from error
        except asyncpg.PostgresError as error:
            raise OperatorError(f"{headline(step)}: {error}; what is done before stays") from error
        _log.warning("%s: has no lock yet; again in %g s", headline(step), pause)
        await asyncio.sleep(pause)
        pause = min(2 * pause, longest)


async def _briefly(step: str, transaction: Callable[[], AbstractAsyncContextManager[None]] = db.transaction) -> None:
    async with transaction():
        await db.rows(_GIVE_WAY)
        await db.rows(step)


async def _take(step: str, name: str) -> None:
    if index := _CONCURRENTLY.match(step):
        partitioned = await db.value("SELECT relkind = 'p' FROM pg_class WHERE oid = $1::regclass", index["table"])
        await (_index_of_partitions(index) if partitioned else _index(step, index["name"]))
        await _note(name)
    elif _IN_BATCHES.match(step):
        await db.rows(step)
        await _note(name)
    else:
        async with db.transaction():
            await db.rows(_GIVE_WAY)
            await db.rows(step)
            await _note(name)


async def _index(step: str, name: str) -> None:
    """Build an index, unless it is there. One that was not finished is there too, and dropped first."""
    valid = await db.value("SELECT indisvalid FROM pg_index WHERE indexrelid = to_regclass($1)", name)
    if valid is False:
        await db.rows(f"DROP INDEX CONCURRENTLY {name}")
    if not valid:
        await db.rows(step)


async def _index_of_partitions(index: re.Match[str]) -> None:
    """Build an index of a table with partitions, which becomes valid with the last of them. A partition that is made
    meanwhile has it.
    """
    name, table, rest = index["name"], index["table"], index.string[index.end() :]
    if await db.value("SELECT to_regclass($1) IS NULL", name):
        await _briefly(f"{index[1]} {name} ON ONLY {table}{rest}")
    while partition := await db.value(_WITHOUT, table, name):  # asked each time: days are made and dropped meanwhile
        part = f"{partition}_{name.removeprefix(f'{table}_')}"
        with suppress(db.NoTable):  # a relay has dropped it meanwhile: it is past retention
            await _index(f"{index[1]} CONCURRENTLY {part} ON {partition}{rest}", part)
            await _briefly(f"ALTER INDEX {name} ATTACH PARTITION {part}")


async def _note(name: str) -> None:
    await db.rows("INSERT INTO migration (app_name, name, ran_on) VALUES ($1, $2, now())", NOTED, name)
