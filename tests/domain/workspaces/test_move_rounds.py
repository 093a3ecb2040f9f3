"""A workspace is copied while it goes on: what is changed, added or deleted between two rounds is so in the other."""

import asyncpg
import pytest

from leadwire.delivery import feed as events
from leadwire.delivery.monitoring import ledger
from leadwire.domain.accounts import changes as accounts
from leadwire.domain.accounts import reads
from leadwire.domain.accounts.changes import workspaces
from leadwire.domain.workspaces import copy, fence, move
from leadwire.infrastructure import db, secret_box
from leadwire.infrastructure.db import declared
from leadwire.infrastructure.db.statements import sql
from leadwire.infrastructure.errors import Conflict, Unavailable
from tests import make
from tests import rows as every_table
from tests.domain.workspaces.cells import Cell
from tests.domain.workspaces.test_move import RENEWED, UNLOCKED, call, rows, settle
from tests.waiting import eventually

pytestmark = pytest.mark.flow
# A column of each table that may have any value, and another value for it.
CHANGEABLE = """
SELECT DISTINCT ON (relname) relname AS name, attname AS column, CASE WHEN typname = 'bytea' THEN '\\xabcd'
    ELSE CASE typcategory WHEN 'N' THEN '7' WHEN 'D' THEN '2020-01-01' WHEN 'A' THEN '{other}' WHEN 'B' THEN 'true'
        ELSE 'other' END END AS value
FROM pg_attribute a JOIN pg_class c ON c.oid = attrelid JOIN pg_type t ON t.oid = atttypid
WHERE relname = ANY($1) AND attnum > 0 AND NOT attisdropped AND typname NOT IN ('json', 'xid8', 'tsvector')
    AND NOT relname || '.' || attname = ANY($2) AND attname <> 'workspace_id'
    AND NOT EXISTS (SELECT FROM pg_constraint WHERE conrelid = attrelid AND a.attnum = ANY(conkey))
ORDER BY relname, attnum"""
THOSE = "t::text ~ '[(,]{}[,)]'"  # rows with this value
RETENTION_KINDS = {"same": "leads", "changed": "events", "deleted": "messages", "added": "conversations"}
EVENT = "INSERT INTO event (id, workspace_id, kind, body, occurred_at) VALUES ($1, $2, 'lead.updated', '{}', now())"
DELIVERY = (
    "INSERT INTO delivery (event_id, endpoint_id, workspace_id, state, due_at) VALUES ($1, 'we', $2, 'waiting', now())"
)


async def insert(cell, text):
    """Insert a row into each table, of the workspace `same`."""
    connection = await asyncpg.connect(cell.url)
    kind = {("retention", "kind"): RETENTION_KINDS[text]}
    columns = [
        {**row, "value": kind.get((row["name"], row["column"]), row["value"])}
        | ({"value": "same"} if row["column"] == "workspace_id" else {})
        for row in await connection.fetch(every_table.COLUMNS)
        if row["name"] != "workspace" or text == "same"
    ]
    await every_table.insert(connection, columns, text)
    await connection.execute("UPDATE retention SET after_id = $1 WHERE kind = $2", text, RETENTION_KINDS[text])
    await connection.close()
    for table, sealed in declared.sealed().items():
        for column in sealed:
            name, value = column._meta.db_column_name, secret_box.get().seal("secret")
            await db.rows(f"UPDATE {table} t SET {name} = $1 WHERE {THOSE.format(text)}", value)


async def change(cell):
    """Between two rounds: change a row of each table, delete one, add one."""
    tables = [table.name for table in copy.tables()]
    sealed = [f"{table}.{one._meta.db_column_name}" for table, found in declared.sealed().items() for one in found]
    renewed = [f"{table}.{name}" for table, names in RENEWED.items() for name in names]
    for name, column, value in await db.rows(CHANGEABLE, tables, [*sealed, *renewed]):
        if name != "bot_version":  # which never changes
            await db.rows(f"UPDATE {name} t SET {column} = '{value}' WHERE {THOSE.format('changed')}")
    for table in reversed(tables):
        await db.rows(f"DELETE FROM {table} t WHERE {THOSE.format('deleted')}")
    await insert(cell, "added")


@pytest.fixture
def between(monkeypatch):
    """Let something happen there before a round: the second, or the last, just before changes are refused."""

    def happens(at, what):
        copied, close, rounds = copy.Copy.round, fence.close, []

        async def round_after_that(self, *, last=False):
            rounds.append(last)
            if len(rounds) == at:
                await what()
            await copied(self, last=last)

        async def close_after_that(other, workspace):
            await what()
            await close(other, workspace)

        if at == "last":
            monkeypatch.setattr(fence, "close", close_after_that)
        else:
            monkeypatch.setattr(copy.Copy, "round", round_after_that)

    return happens


@pytest.mark.parametrize("at", [2, "last"])
async def test_each_table_has_what_was_changed_added_and_deleted_meanwhile(pair, between, at):
    _, second = pair
    first = Cell(pair[0].url, second.keys[0])  # with the same key blocks of visitors go along, too
    expected = {}

    async def meanwhile():
        async with first.inside():
            await change(first)
            expected.update(await rows())

    between(at, meanwhile)
    async with first.inside():
        for text in ("same", "changed", "deleted"):
            await insert(first, text)
        await db.rows("UPDATE audit_entry SET number = ascii(id)")
        before = await rows()
    async with second.inside():
        await move.move("same", first.url, first.keys)
        after = await rows()
    after["audit_entry"] = [row for row in after["audit_entry"] if row["action"] != "workspace.moved_here"]
    assert after == expected
    assert [name for name, found in before.items() if len(found) != 3] == []
    assert [name for name, found in after.items() if len(found) != 3] == []
    assert [name for name, found in after.items() if found == before[name]] == []


async def test_what_was_under_way_at_a_snapshot_is_copied_afterwards_in_the_order_of_the_feed(worked, pair, between):
    first, second = pair
    relay, early, late = [await asyncpg.connect(first.url) for _ in range(3)]
    begun = [connection.transaction() for connection in (relay, early)]
    lead = await db.value("SELECT min(id) FROM lead")
    order = []

    async def begin():
        for transaction in begun:
            await transaction.start()
        # A relay that has begun first reads what commits later; a savepoint has a transaction id of its own.
        await relay.execute("SELECT pg_current_xact_id()")
        await early.execute(EVENT, "evt_zz_early", worked)
        async with early.transaction():
            await early.execute("UPDATE lead SET name = 'In a savepoint' WHERE id = $1", lead)
        await late.execute(EVENT, "evt_aa_late", worked)
        await relay.execute(DELIVERY, "evt_aa_late", worked)
        await begun[0].commit()

    async def end():
        await begun[1].commit()
        await late.execute("VACUUM (FREEZE) lead")

    async def at_last():
        async with first.inside():
            order.extend(event.id for event in (await events.feed(worked)).events)

    between(1, begin)
    between(2, end)
    between("last", at_last)
    async with second.inside():
        await move.move(worked, first.url, first.keys)
        assert await db.value("SELECT name FROM lead WHERE id = $1", lead) == "In a savepoint"
        assert await db.value("SELECT count(*) FROM delivery WHERE event_id = 'evt_aa_late'") == 1
        assert [event.id for event in (await events.feed(worked)).events] == order
        assert order.index("evt_zz_early") < order.index("evt_aa_late")
    for connection in (relay, early, late):
        await connection.close()


@pytest.mark.parametrize("at", [2, "last"])
async def test_what_is_delivered_erased_and_sent_again_meanwhile_is_so_there(worked, pair, between, wire, receiver, at):
    first, second = pair
    _, key = await accounts.create_key(worked, "moves")
    changed, erased, *_ = [row["id"] for row in await db.rows("SELECT id FROM lead ORDER BY id")]
    bot = await db.value("SELECT bot_id FROM lead WHERE id = $1", erased)
    address = await db.value("SELECT email FROM lead WHERE id = $1", erased)

    async def meanwhile():
        async with first.inside():
            assert (await call("DELETE", key, f"/v1/leads/{erased}")).is_success
            assert (await call("PATCH", key, f"/v1/leads/{changed}", name="Meanwhile")).status_code == 200
            await make.lead(worked, bot, email=address)  # who was erased comes again
            await settle(wire)

    between(at, meanwhile)
    async with second.inside():
        await move.move(worked, first.url, first.keys)
        await settle(wire)
        checks, _ = await ledger.check(wire.redis, wire.settings)
        assert [check for check in checks if check.broken] == []
        assert await db.value("SELECT count(*) FROM lead WHERE id = $1", erased) == 0
        assert await db.value("SELECT count(*) FROM event WHERE lead_id = $1 AND body <> ''", erased) == 0
        assert await db.value("SELECT name FROM lead WHERE id = $1", changed) == "Meanwhile"
        assert await db.value("SELECT count(*) FROM lead WHERE email = $1", address) == 1
        sent = {
            row["id"]
            for row in await db.rows(
                "SELECT id FROM event WHERE kind IN ('lead.created', 'lead.updated') AND body <> ''"
            )
        }
    assert sent - {one.webhook_id for one in receiver.deliveries} == set()


async def test_a_change_that_does_not_end_keeps_it_open(worked, pair, between, monkeypatch):
    first, second = pair
    monkeypatch.setattr(fence, "_PATIENCE", sql("SELECT set_config('lock_timeout', '1ms', true)"))
    _, key = await accounts.create_key(worked, "moves")
    lead = await db.value("SELECT min(id) FROM lead")
    writer = await asyncpg.connect(first.url)
    open_ = writer.transaction()

    async def begin():
        await open_.start()
        await writer.execute("UPDATE lead SET name = 'Slowly' WHERE id = $1", lead)

    between(2, begin)
    async with second.inside():
        with pytest.raises(Unavailable, match="does not end"):
            await move.move(worked, first.url, first.keys)
    await open_.commit()
    await writer.close()
    await eventually(lambda: db.value(UNLOCKED))
    assert (await call("PATCH", key, f"/v1/leads/{lead}", company="Open")).status_code == 200
    async with second.inside():
        await move.move(worked, first.url, first.keys)
        assert await db.value("SELECT name || company FROM lead WHERE id = $1", lead) == "SlowlyOpen"


async def test_a_deletion_that_begins_meanwhile_ends_the_move(worked, pair, between):
    first, second = pair

    async def begin():
        async with first.inside():
            await workspaces.begin_deletion(worked)

    between("last", begin)
    async with second.inside():
        with pytest.raises(Conflict, match="deletion has begun"):
            await move.move(worked, first.url, first.keys)
    assert [(one.id, one.state) for one in await reads.workspace_list()] == [(worked, "being deleted")]
