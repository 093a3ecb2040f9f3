"""What the feed waits for: transactions that have recorded an event, no others. And no cursor skips an event."""

import asyncio
import contextlib
import json
import random
from collections.abc import AsyncIterator

import asyncpg
import pytest

from leadwire.delivery.feed import feed
from leadwire.domain.leads import changes as leads
from leadwire.domain.leads.schema import LeadPatch
from leadwire.infrastructure import db, ids
from tests import make
from tests.delivery.elsewhere import moved_to
from tests.waiting import eventually

SHADOWED = "search_path=public,test_clock,pg_catalog"
STOP = 99_001  # the advisory lock that a stopped reader waits for
_RECORD = "INSERT INTO event (id, workspace_id, kind, body, occurred_at) VALUES ($2, $1, 'lead.created', '{}', now())"
_STOP = f"PERFORM pg_advisory_lock_shared({STOP}); PERFORM pg_advisory_unlock_shared({STOP});"
_LOCKS = "CREATE VIEW test_clock.pg_locks AS SELECT * FROM test_clock.locks();"
_STOPS = {
    "before the locks": f"""CREATE FUNCTION test_clock.locks() RETURNS SETOF pg_catalog.pg_locks LANGUAGE plpgsql AS
        $$ BEGIN {_STOP} RETURN QUERY SELECT * FROM pg_catalog.pg_locks; END $$; {_LOCKS}""",
    # As a transaction that ends looks in between: it releases its locks one by one.
    "amid the locks": f"""CREATE FUNCTION test_clock.locks() RETURNS SETOF pg_catalog.pg_locks LANGUAGE plpgsql AS
        $$ BEGIN RETURN QUERY SELECT * FROM pg_catalog.pg_locks WHERE relation IS NULL; {_STOP} END $$; {_LOCKS}""",
}


class Open:
    """A transaction on a connection of its own."""

    def __init__(self, connection: asyncpg.Connection, workspace: str) -> None:
        self.run = connection.execute
        self._connection = connection
        self._workspace = workspace

    async def record(self) -> str:
        """Record an event; answers its id."""
        event_id = ids.new("evt")
        await self._connection.fetch(_RECORD, self._workspace, event_id)
        return event_id


@pytest.fixture
async def begin(workspace, servers):
    """Opens a transaction, which is rolled back unless it was ended."""
    async with contextlib.AsyncExitStack() as stack:

        async def opened(url: str = servers.database_url) -> Open:
            connection = await asyncpg.connect(url)
            stack.push_async_callback(connection.close)
            await connection.execute("BEGIN")
            return Open(connection, workspace)

        yield opened


@contextlib.asynccontextmanager
async def stopped(where: str) -> AsyncIterator[asyncio.Event]:
    """Readers on new connections stop where they ask for the server's locks, until the event is set."""
    go, held = asyncio.Event(), await asyncpg.connect(db.DB.config["dsn"])
    await held.execute(f"SELECT pg_advisory_lock({STOP})")
    await held.execute(_STOPS[where])

    async def release() -> None:
        await go.wait()
        await held.execute(f"SELECT pg_advisory_unlock({STOP})")

    releasing = asyncio.create_task(release())
    try:
        yield go
    finally:
        go.set()
        await releasing
        await held.execute("DROP VIEW test_clock.pg_locks; DROP FUNCTION test_clock.locks")
        await held.close()


async def shown(workspace: str, after: str = "", limit: int = 100) -> list[str]:
    return [event.id for event in (await feed(workspace, after, limit=limit)).events]


async def recorded(workspace: str) -> set[str]:
    return {row["id"] for row in await db.rows("SELECT id FROM event WHERE workspace_id = $1", workspace)}


@pytest.mark.parametrize(
    "writes", ["CREATE TABLE foreign_table ()", "UPDATE bot SET name = name", "SELECT pg_current_xact_id()"]
)
async def test_a_foreign_writer_holds_nothing_back(workspace, bot, begin, writes):
    await (await begin()).run(writes)
    await make.lead(workspace, bot)
    page = await feed(workspace)
    assert {event.id for event in page.events} == await recorded(workspace)
    assert page.held_back_since is None


async def test_a_writer_in_another_database_holds_nothing_back(workspace, bot, begin, servers):
    await db.rows("CREATE DATABASE another TEMPLATE template0")
    try:
        await (await begin(servers.database_url.replace("/leadwire?", "/another?"))).run(
            "CREATE TABLE foreign_table ()"
        )
        assert await db.value("SELECT count(*) FROM pg_stat_activity WHERE datname = 'another' AND backend_xid <> '0'")
        await make.lead(workspace, bot)
        assert set(await shown(workspace)) == await recorded(workspace)
    finally:
        await db.rows("DROP DATABASE another WITH (FORCE)")


async def test_who_has_recorded_an_event_is_waited_for_and_the_feed_says_so(workspace, begin):
    first, second = await begin(), await begin()
    early = await first.record()
    assert (await feed(workspace)).held_back_since is None, "nothing that is committed is held back"
    late = await second.record()
    await second.run("COMMIT")
    page = await feed(workspace)
    assert page.events == []
    assert page.held_back_since == await db.value("SELECT recorded_at FROM event WHERE id = $1", late)
    await first.run("COMMIT")
    page = await feed(workspace)
    assert [event.id for event in page.events] == [early, late]
    assert page.held_back_since is None


async def test_what_comes_before_the_one_that_is_waited_for_is_shown(workspace, begin):
    before, holding, after = await begin(), await begin(), await begin()
    first = await before.record()
    await before.run("COMMIT")
    await holding.record()
    await after.record()
    await after.run("COMMIT")
    assert await shown(workspace) == [first]
    await holding.run("ROLLBACK")
    assert len(await shown(workspace)) == 2


@pytest.mark.parametrize("way", ["", "SAVEPOINT before_it"])
async def test_who_was_passed_and_records_then_comes_behind_every_cursor(workspace, begin, way):
    """Its transaction began first and has written something: the feed did not wait for it."""
    early, late = await begin(), await begin()
    await early.run("SELECT pg_current_xact_id()")
    if way:
        await early.run(way)
        await early.record()
        await early.run(f"ROLLBACK TO {way}")
    passing = await late.record()
    await late.run("COMMIT")
    assert await shown(workspace) == [passing]
    behind = await early.record()
    await early.run("COMMIT")
    assert await shown(workspace, passing) == [behind]
    assert await shown(workspace) == [passing, behind]


async def test_changes_of_one_lead_come_in_their_order_whoever_began_first(workspace, bot, begin):
    lead = await make.lead(workspace, bot)
    loop = asyncio.get_running_loop()
    entered, go = asyncio.Event(), asyncio.Event()

    async def begins_first() -> None:
        async with db.transaction():
            await db.rows("SELECT pg_current_xact_id()")
            entered.set()
            await go.wait()
            await leads.update(workspace, lead.id, LeadPatch(name="second"), unchanged={})

    slow = loop.create_task(begins_first())
    await entered.wait()
    await leads.update(workspace, lead.id, LeadPatch(name="first"), unchanged={})
    go.set()
    await slow
    events = (await feed(workspace, kinds=["lead.updated"])).events
    assert [json.loads(event.body)["data"]["name"] for event in events] == ["first", "second"]


@pytest.mark.parametrize("where", _STOPS)
async def test_who_ends_while_the_feed_looks_is_waited_for(workspace, begin, servers, where):
    """The reader's snapshot is older than what it learns of locks."""
    early, late = await begin(), await begin()
    first = await early.record()
    second = await late.record()
    await late.run("COMMIT")
    async with stopped(where) as go, moved_to(f"{servers.database_url}&{SHADOWED}", restarted=False):
        reading = asyncio.create_task(feed(workspace))
        waiting = "SELECT count(*) FROM pg_catalog.pg_locks WHERE objid = $1 AND NOT granted"
        await eventually(lambda: db.value(waiting, STOP))
        await early.run("COMMIT")
        go.set()
        assert (await reading).events == []
    assert await shown(workspace) == [first, second]


@pytest.mark.parametrize("seed", range(8))
async def test_whatever_comes_between_nothing_is_skipped_and_nothing_comes_twice(workspace, begin, seed):
    """Transactions take numbers, record, undo, record again, commit and fail in any order; a reader reads meanwhile."""
    chance = random.Random(seed)
    read, cursor, kept = [], "", set()
    opened: list[tuple[Open, set[str]]] = []
    for _ in range(150):
        act = chance.choice(["begin", "number", "record", "record", "undo", "commit", "fail", "read", "read"])
        if act == "read":
            page = await shown(workspace, cursor, chance.randint(1, 5))
            read += page
            cursor = page[-1] if page else cursor
        elif act == "begin" or not opened:
            opened.append((await begin(), set()))
        else:
            transaction, events = opened[place := chance.randrange(len(opened))]
            if act == "number":
                await transaction.run("SELECT pg_current_xact_id()")
            elif act == "record":
                events.add(await transaction.record())
            elif act == "undo":
                await transaction.run("SAVEPOINT undone")
                await transaction.record()
                await transaction.run("ROLLBACK TO undone")
            else:
                await transaction.run("COMMIT" if act == "commit" else "ROLLBACK")
                kept |= events if act == "commit" else set()
                del opened[place]
    for transaction, events in opened:
        await transaction.run("COMMIT")
        kept |= events
    assert sorted(read + await shown(workspace, cursor, 1000)) == sorted(kept)
