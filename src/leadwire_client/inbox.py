"""Handle each webhook once, although it may be delivered twice.

with psycopg.connect(...) as connection, once(connection, event.id) as first:
    if first:
        connection.execute("UPDATE ...")

Create the table with a migration of yours, or with `connection.execute(TABLE)`. Redis needs none.

Where the endpoint numbers its deliveries, `check_numbers` says which are missing: see there.
"""

import re
import secrets
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager, suppress
from typing import Any, Final, NamedTuple

from leadwire_client.database import at_once, awaits, fetch_rows, in_transaction, run_blocking, value
from leadwire_client.errors import InProgress

# One statement, which PostgreSQL and SQLite both take. The index of UNIQUE finds the oldest rows for the clean-up.
TABLE: Final = """CREATE TABLE IF NOT EXISTS webhook_inbox (
    id text PRIMARY KEY,
    received_at timestamptz NOT NULL DEFAULT CURRENT_TIMESTAMP,
    UNIQUE (received_at, id)
)"""

NUMBER_TABLE: Final = """CREATE TABLE IF NOT EXISTS webhook_number (
    endpoint text NOT NULL,
    number bigint NOT NULL,
    id text NOT NULL,
    received_at timestamptz NOT NULL DEFAULT CURRENT_TIMESTAMP,
    PRIMARY KEY (endpoint, number, id)
)"""

_INSERT: Final = "INSERT INTO webhook_inbox (id) VALUES ({}) ON CONFLICT DO NOTHING RETURNING id"
# SKIP LOCKED: two clean-ups never wait for each other. ARRAY: the inner query runs once, so that its LIMIT holds.
_CLEAN_POSTGRES: Final = """DELETE FROM webhook_inbox WHERE id = ANY (ARRAY (
    SELECT id FROM webhook_inbox WHERE received_at < CURRENT_TIMESTAMP - make_interval(days => {})
    ORDER BY received_at LIMIT 200 FOR UPDATE SKIP LOCKED)) RETURNING id"""
_CLEAN_SQLITE: Final = """DELETE FROM webhook_inbox WHERE id IN (
    SELECT id FROM webhook_inbox WHERE received_at < datetime('now', '-' || {} || ' days')
    ORDER BY received_at LIMIT 200) RETURNING id"""
_CALLS_PER_CLEAN: Final = 50
_INSERT_NUMBER: Final = """INSERT INTO webhook_number (endpoint, number, id) VALUES ({}, {}, {})
ON CONFLICT DO NOTHING RETURNING id"""
# Old rows go only below a number that stays, else those between it and the next would seem to be missing.
_CLEAN_NUMBERS: Final = """DELETE FROM webhook_number WHERE endpoint = {} AND number < (
    SELECT max(number) FROM webhook_number WHERE endpoint = {} AND number < (
        SELECT min(number) FROM webhook_number WHERE endpoint = {} AND received_at >= {since})) RETURNING id"""
_MISSING: Final = """SELECT before + 1, number - 1 FROM (
    SELECT number, received_at, lag(number) OVER (ORDER BY number) AS before FROM webhook_number WHERE endpoint = {}
) AS known WHERE number > before + 1 AND received_at < {since} ORDER BY number"""
_REPEATED: Final = """SELECT number, id FROM webhook_number WHERE endpoint = {} AND number IN (
    SELECT number FROM webhook_number WHERE endpoint = {} GROUP BY number HAVING count(*) > 1) ORDER BY number, id"""
_RELEASE: Final = "if redis.call('GET', KEYS[1]) == ARGV[1] then redis.call('DEL', KEYS[1]) end"


class Once:
    """What `once` returns: for `with` on a blocking connection, for `async with` on an asynchronous one."""

    def __init__(self, handled: Any, *, awaits: bool) -> None:
        self._handled, self._awaits = handled, awaits

    def __enter__(self) -> bool:
        if self._awaits:
            raise TypeError("this connection is asynchronous: use `async with`")
        return bool(at_once(self._handled.__aenter__()))

    def __exit__(self, *error: object) -> None:
        at_once(self._handled.__aexit__(*error))

    async def __aenter__(self) -> bool:
        if not self._awaits:
            raise TypeError("this connection is blocking: use `with`")
        return bool(await self._handled.__aenter__())

    async def __aexit__(self, *error: object) -> None:
        await self._handled.__aexit__(*error)


class Numbers(NamedTuple):
    """What the numbers of an endpoint's deliveries show."""

    missing: list[tuple[int, int]]
    """First and last number of each hole. `leadwire_client.Receiver.replay` has them sent again."""
    repeated: dict[int, list[str]]
    """Numbers that came with several events, and the events' ids. Leadwire's database was put back to an earlier state
    (a failover, a restore) and has lost what it gave the number to before: `leadwire ledger` says when."""


def once(
    connection: Any,
    webhook_id: str,
    *,
    number: str | int | None = None,
    endpoint: str = "",
    days: int = 60,
    lease: int = 60,
) -> Once:
    """Enter the block with True if the event is new, with False if it has been handled before.

    `connection` is one of psycopg 3, asyncpg, sqlite3 (SQLite 3.35) or aiosqlite, or a client of redis-py.

    PostgreSQL and SQLite: the block is a transaction, or a savepoint in yours where one is open, which you then commit.
    The id and the changes of the block are committed together or not at all. A second delivery at the same moment
    waits for the first, and enters with False if that one commits, with True if it rolls back.

    Tasks and threads may share a connection: the block of one waits for that of another, so never wait within a block
    for a task that has a block on its connection. What else runs on the connection meanwhile becomes part of the block.
    A transaction that you open yourself needs a connection that nobody else uses.

    Redis shares no transaction with your data. It keeps the id for `lease` seconds, and for `days` once the block has
    ended; it drops the id if the block raises. An event takes effect again if the process dies between your commit and
    the end of the block, if the block takes longer than `lease`, or if Redis loses the key. None is skipped before a
    block with its id has ended.

    `days` is how long an id is kept: choose more than Leadwire keeps events, as one sent again later counts as new. Now
    and then a call deletes up to 200 older rows. Consumers that share a table prefix the id: `f"billing:{event.id}"`.

    `number` is the header `X-Service-Sequence`, where there is one: it is kept for `check_numbers`, in the same
    transaction (not in Redis). `endpoint` is any name for the numbered endpoint, where several share the table.

    Raise ValueError if `webhook_id` is not 1 to 255 printable ASCII characters or `number` is none, TypeError if
    `connection` is none of the above, RuntimeError if another task of this thread is in a block on this connection and
    it is blocking, InProgress (Redis only) while another delivery of the event is in its block. Answer 500 to these
    and to errors of the block: Leadwire sends the event again.
    """
    if not isinstance(webhook_id, str) or not re.fullmatch("[ -~]{1,255}", webhook_id):
        raise ValueError("webhook_id must be 1 to 255 printable ASCII characters")
    if days < 1 or lease < 1:
        raise ValueError("days and lease must be at least 1")
    if hasattr(connection, "execute_command"):
        handled = _redis(connection, f"webhook_inbox:{webhook_id}", days, lease)
    elif hasattr(connection, "transaction") or hasattr(connection, "executescript"):
        handled = _database(connection, webhook_id, days, None if number is None else (endpoint, int(number)))
    else:
        raise TypeError(f"not a connection of psycopg 3, asyncpg, sqlite3, aiosqlite or redis-py: {type(connection)}")
    return Once(handled, awaits=awaits(connection))


def check_numbers(connection: Any, endpoint: str = "", *, patience: int = 7200, days: int = 60) -> Numbers:
    """Return which numbers are missing, and which came twice, of the deliveries that `once` got with a `number`.

    Needs `NUMBER_TABLE`. Call it now and then, as every hour. A number counts as missing once the next higher one has
    been here for `patience` seconds: the retries of a delivery take 36 minutes. Numbers below the first that came are
    not missed. Rows older than `days` are deleted. With an asynchronous connection use `check_numbers_async`. Waits for
    other tasks and threads on the connection, and raises RuntimeError, as `once` does.
    """
    return run_blocking(connection, check_numbers_async(connection, endpoint, patience=patience, days=days))


async def check_numbers_async(connection: Any, endpoint: str = "", *, patience: int = 7200, days: int = 60) -> Numbers:
    """`check_numbers` with an asynchronous connection."""
    async with in_transaction(connection):
        await fetch_rows(connection, _CLEAN_NUMBERS, endpoint, endpoint, endpoint, days * 86_400)
        missing = await fetch_rows(connection, _MISSING, endpoint, patience)
        repeated: dict[int, list[str]] = {}
        for number, webhook_id in await fetch_rows(connection, _REPEATED, endpoint, endpoint):
            repeated.setdefault(number, []).append(webhook_id)
        return Numbers([(first, last) for first, last in missing], repeated)


@asynccontextmanager
async def _database(connection: Any, webhook_id: str, days: int, number: tuple[str, int] | None) -> AsyncIterator[bool]:
    async with in_transaction(connection):
        first = bool(await fetch_rows(connection, _INSERT, webhook_id))
        if number is not None:
            await fetch_rows(connection, _INSERT_NUMBER, *number, webhook_id)
        if first and secrets.randbelow(_CALLS_PER_CLEAN) == 0:
            await fetch_rows(connection, _CLEAN_POSTGRES if hasattr(connection, "transaction") else _CLEAN_SQLITE, days)
        yield first


@asynccontextmanager
async def _redis(connection: Any, key: str, days: int, lease: int) -> AsyncIterator[bool]:
    token = secrets.token_hex(8)
    if await value(connection.set(key, token, nx=True, ex=lease)) is not True:
        if await value(connection.get(key)) not in ("done", b"done"):
            raise InProgress("another delivery of this event is being handled: answer 500, and it is sent again")
        yield False
        return
    try:
        yield True
    except BaseException:
        with suppress(Exception):  # then the lease ends it
            await value(connection.eval(_RELEASE, 1, key, token))
        raise
    await value(connection.set(key, "done", ex=days * 86_400))
