"""A workspace moves to another installation and back: nothing is lost, and whatever is killed, one of them has it."""

import asyncio
import contextlib
import json
from collections import Counter, defaultdict

import asyncpg
import httpx
import pytest

from leadwire.delivery.feed import events
from leadwire.delivery.monitoring import invariants
from leadwire.delivery.worker import hourly_stats
from leadwire.domain.accounts import changes as accounts
from leadwire.domain.accounts import reads
from leadwire.domain.accounts.audit import reads as audit_log
from leadwire.domain.bots.changes import counts
from leadwire.domain.webhooks import changes as webhooks
from leadwire.domain.webhooks.schema import EndpointChange
from leadwire.domain.workspaces import changes, copy, fence, move
from leadwire.infrastructure import db, secret_box
from leadwire.infrastructure.db.engine import Engine
from leadwire.infrastructure.db.other import connected
from leadwire.infrastructure.db.statements import sql
from leadwire.infrastructure.errors import Conflict, NotFound
from tests import asgi, jobs, make
from tests import rows as every_table
from tests.delivery.test_pull import puller_of
from tests.delivery.wired import endpoint
from tests.domain.bots.conftest import published
from tests.domain.workspaces import cells
from tests.domain.workspaces.cells import Cell
from tests.interfaces.web.conftest import signed_in

pytestmark = pytest.mark.flow
RENEWED = {name: set(columns) for name, columns in copy._CHANGED.items()}


@pytest.fixture(scope="module")
async def other(connected, servers):
    """The second cell."""
    return await cells.second(servers.database_url)


@pytest.fixture
async def pair(database, other, servers, monkeypatch):
    """Both cells: in the first is what a test makes, the second is empty. No worker runs unless a test lets it."""
    monkeypatch.setattr(copy, "_PAGE", 3)
    monkeypatch.setattr(move, "_PATIENCE", 0.0)
    monkeypatch.setattr(move, "_SHORT", 0.0)
    async with other.inside():
        await cells.empty()
    yield Cell(servers.database_url, cells.KEYS[0]), other
    for workspace in await reads.workspace_list():
        await fence.remove(workspace.id)


@pytest.fixture
async def worked(pair, workspace, wire, receiver, monkeypatch):
    """A workspace with something of all that counts: delivered, dead, waiting, handed out, still in the outbox."""
    async with signed_in(workspace, "admin", "ada@example.org"):
        pass
    bot = (await published(workspace)).id
    for change in ({}, {"ordered": True}, {"numbered": True}):
        made = await endpoint(
            workspace, f"{receiver.url}/{len(change)}{''.join(change)}", "lead.created", "lead.updated"
        )
        await webhooks.configure(workspace, made.id, EndpointChange(**change))
    fetching = await puller_of(workspace)
    for _ in range(4):
        await make.somebody(workspace, bot)
    while await wire.turn():
        pass
    await fetching.fetch(1)
    await db.rows(
        "UPDATE delivery_result SET state = 'dead', last_outcome = 'gone' WHERE event_id = (SELECT min(id) FROM event)"
    )
    receiver.answer = 500
    await make.somebody(workspace, bot)
    await wire.turn()  # which will be tried again
    receiver.answer = 204
    await make.somebody(workspace, bot)
    await wire.relay()  # which is in the streams
    await make.somebody(workspace, bot)
    await db.rows(
        "INSERT INTO job (kind, key, workspace_id, due_at, since) VALUES ('redrive', 'x', $1, 'infinity', now())",
        workspace,
    )
    await hourly_stats.flush()
    await counts.write()
    await jobs.run("audit.chain")
    return workspace


async def rows():
    """Each table's rows, without what is new on each side."""
    found = {}
    for kind in copy.KINDS:
        for table in (kind.table, *(name for name, _ in kind.parts)):
            sealed = copy._SEALED.get(table, [])
            ours = "WHERE workspace_id <> ''" if table == "job" else ""
            stored = await db.rows(f"SELECT row_to_json(t) FROM {table} t {ours}")
            decoded = [json.loads(bytes(row[0])) for row in stored]
            for row in decoded:
                for column in sealed:
                    if value := row[name := column._meta.db_column_name]:
                        place = secret_box.place(column, row["id"])
                        row[name] = secret_box.get().open(bytes.fromhex(value[2:]), place)
            kept = [{key: value for key, value in row.items() if key not in RENEWED.get(table, ())} for row in decoded]
            found[table] = sorted(kept, key=lambda row: json.dumps(row, sort_keys=True))
    return found


async def settle(wire):
    """Deliver all that is to be sent, retries included."""
    while True:
        await db.rows("UPDATE delivery SET due_at = now() WHERE state = 'waiting' AND due_at < 'infinity'")
        await db.rows("UPDATE webhook_endpoint SET due_at = now(), waiting_from = '-infinity'")
        if not await wire.turn():
            return


async def call(method, key, path="/v1/leads", **change):
    """A request with a key."""
    async with httpx.AsyncClient(transport=asgi.transport(), base_url="http://test") as client:
        client.headers["Authorization"] = f"Bearer {key}"
        return await client.request(method, path, **({"json": change} if change else {}))


async def test_each_table_is_copied_or_said_not_to_be(database):
    named = {table for kind in copy.KINDS for table in (kind.table, *(name for name, _ in kind.parts))}
    tables = await db.rows(
        """SELECT relname FROM pg_class WHERE relkind IN ('r', 'p') AND NOT relispartition
           AND relnamespace = 'public'::regnamespace"""
    )
    installation = {"migration", "epoch", "ledger_check"}
    assert {row["relname"] for row in tables} == named | copy.NOT_COPIED | installation


async def test_it_has_the_same_rows(worked, pair):
    first, second = pair
    order = [event.id for event in (await events.feed(worked)).events]
    before = await rows()
    async with second.inside():
        moved = await move.move(worked, first.url, first.keys)
        after = await rows()
        assert {row["id"] for row in before.pop("audit_entry")} < {row["id"] for row in after["audit_entry"]}
        assert {table: after[table] for table in before} == before
        assert moved.rows["lead"] == 7
        assert [event.id for event in (await events.feed(worked)).events] == order
        assert [(one.id, one.state) for one in await reads.workspace_list()] == [(worked, "active")]
        await jobs.run("audit.chain")
        assert (await audit_log.verify(worked)).fault is None


async def test_it_has_a_row_of_each_table(pair):
    first, second = pair
    connection = await asyncpg.connect(first.url)
    async with connection.transaction():
        await every_table.insert(connection, await connection.fetch(every_table.COLUMNS), "x")
        for table, columns in copy._SEALED.items():
            for column in columns:
                name = column._meta.db_column_name
                await connection.execute(f"UPDATE {table} SET {name} = $1", secret_box.get().seal("secret"))
    await connection.close()
    before = await rows()
    assert [table for table, found in before.items() if not found] == []
    assert before.pop("blocked_visitor")
    async with second.inside():
        await move.move("x", first.url, first.keys)
        after = await rows()
        assert after.pop("blocked_visitor") == []  # known by a value that the key makes
        assert [row for row in after["audit_entry"] if row["action"] == "workspace.moved_here"]
        after["audit_entry"] = [row for row in after["audit_entry"] if row["action"] == "x"]
        assert after == before


async def test_all_is_delivered_there_and_back(worked, pair, wire, receiver):
    first, second = pair
    lead = await db.value("SELECT min(id) FROM lead")
    _, key = await accounts.create_key(worked, "moves")
    for before, after in ((first, second), (second, first)):
        async with after.inside():
            await move.move(worked, before.url, before.keys)
            changed = await call("PATCH", key, f"/v1/leads/{lead}", name=after.keys[0][:3])
            assert changed.status_code == 200, changed.text
            await settle(wire)
            assert await db.value("SELECT count(*) FROM outbox") == 0
            pushed = "SELECT d.* FROM delivery d JOIN webhook_endpoint e ON e.id = endpoint_id AND token IS NULL"
            assert await db.rows(pushed) == []
            checks, _ = await invariants.check(wire.redis, wire.settings)
            assert [check for check in checks if check.broken] == []
        async with before.inside():
            gone = await call("GET", key)
            assert (gone.status_code, gone.json()["code"]) == (503, "workspace_moving")
            assert gone.headers["retry-after"] == "5"
            assert [(one.id, one.state) for one in await reads.workspace_list()] == [(worked, "moving")]
            with pytest.raises(Conflict, match="on its way"):
                await changes.resume(worked)
            await changes.delete(worked)
            assert await db.value("SELECT count(*) FROM pg_trigger WHERE tgname LIKE 'move of %'") == 0
            reads._known.clear()
            assert (await call("GET", key)).status_code == 401
    numbers = await db.rows("SELECT sequence FROM every_delivery WHERE sequence IS NOT NULL ORDER BY sequence")
    assert [row["sequence"] for row in numbers] == list(range(1, len(numbers) + 1))
    assert len(numbers) == await db.value("SELECT count(*) FROM event WHERE kind IN ('lead.created', 'lead.updated')")
    sent = {row["id"] for row in await db.rows("SELECT id FROM event WHERE kind IN ('lead.created', 'lead.updated')")}
    received = defaultdict(list)
    for one in receiver.deliveries:
        received[one.path].append(one.webhook_id)
    assert len(received) == 3
    for path, ids in received.items():
        assert set(ids) == sent, path
        assert len(ids) == len(sent) + 1, path  # the one that was answered 500 twice, the others once


async def test_changes_are_refused_while_it_is_copied_and_others_are_not(worked, pair, monkeypatch):
    first, _ = pair
    _, key = await accounts.create_key(worked, "moves")
    lead = await db.value("SELECT min(id) FROM lead")
    other = await accounts.create_workspace("Other")
    _, others_key = await accounts.create_key(other, "stays")
    others = await make.somebody(other, (await published(other)).id)
    async with connected(first.url) as source:
        await fence.build(source, worked)
        assert (await call("PATCH", key, f"/v1/leads/{lead}", name="Before")).status_code == 200
        await fence.close(source, worked)
        changes_of_both = [
            call("PATCH", of, f"/v1/leads/{whose}", name=f"Meanwhile {number}")
            for number in range(4)
            for of, whose in ((key, lead), (others_key, others.id))
        ]
        answers = await asyncio.gather(*changes_of_both)
        assert [answer.status_code for answer in answers] == [503, 200] * 4
        assert answers[0].json()["code"] == "workspace_moving"
        assert answers[0].headers["retry-after"] == "5"
        assert (await call("GET", key)).status_code == 200
        with pytest.raises(db.Moving):
            await make.somebody(worked, await db.value("SELECT bot_id FROM lead WHERE id = $1", lead))
    assert (await call("PATCH", key, f"/v1/leads/{lead}", name="After")).status_code == 200


async def test_what_cannot_be_moved_is_refused_before_anything_is_written(worked, pair, monkeypatch):
    first, second = pair
    async with second.inside():
        with pytest.raises(NotFound):
            await move.move("ws_x", first.url, first.keys)
        there = await accounts.create_workspace("Other")
        await db.rows(
            "INSERT INTO user_account (id, workspace_id, email, role, created_at)"
            " VALUES ('user_x', $1, 'ADA@example.org', 'agent', now())",
            there,
        )
        with pytest.raises(Conflict, match="has an account in another workspace"):
            await move.move(worked, first.url, first.keys)
        await cells.empty()
        async with connected(first.url) as another:
            await fence.enter(another, worked)
            with monkeypatch.context() as impatient:
                impatient.setattr(fence, "_PATIENCE", sql("SELECT set_config('lock_timeout', '1ms', true)"))
                with pytest.raises(Conflict, match="by another process"):
                    await move.move(worked, first.url, first.keys)
        assert await reads.workspace_list() == []
        await move.move(worked, first.url, first.keys)
        assert await move.move(worked, first.url, first.keys) == (Counter(), 0.0)  # there is nothing left to do
        await db.rows("UPDATE workspace SET move_id = 'move_x'")
        with pytest.raises(Conflict, match="gone to another"):
            await move.move(worked, first.url, first.keys)
    with pytest.raises(Conflict, match="gone to another"):  # it has gone from there, too
        await move.move(worked, second.url, second.keys)
    await db.rows("UPDATE workspace SET move_id = NULL, deletion_began_at = NULL")
    async with second.inside():
        await db.rows("UPDATE workspace SET move_id = NULL")
        with pytest.raises(Conflict, match="already"):
            await move.move(worked, first.url, first.keys)


class Killed(BaseException):
    """The process that moves is no more: nothing of it is tidied up."""


async def killed(text, *, after, first, second, workspace, monkeypatch):
    """Move a workspace, and end the move before or after a statement with this text. Return whether it came there."""
    fetch, seen = Engine.fetch, []

    async def until_then(engine, statement, args):
        if seen or (text in statement and not after):
            seen.append(statement)
            raise Killed
        rows = await fetch(engine, statement, args)
        if text in statement:
            seen.append(statement)
            raise Killed
        return rows

    async with second.inside():
        with monkeypatch.context() as patched, contextlib.suppress(Killed):
            patched.setattr(Engine, "fetch", until_then)
            await move.move(workspace, first.url, first.keys)
    return bool(seen)


STEPS = (
    "pg_advisory_lock(7227", "CREATE TRIGGER", "paused_until = 'infinity'", "pg_advisory_lock(7226",
    "INSERT INTO workspace", "SET move_id = $", "INSERT INTO user_account", "INSERT INTO lead ", "INSERT INTO event",
    "INSERT INTO outbox", "INSERT INTO job", "WITH unchained", "SET move_id = NULL",
    "paused_until = NULL",
)  # fmt: skip


async def test_wherever_it_is_killed_one_of_them_has_it_and_a_second_run_goes_on(worked, pair, wire, monkeypatch):
    first, second = pair
    _, key = await accounts.create_key(worked, "moves")
    lead = await db.value("SELECT min(id) FROM lead")
    accepted = ["At last"]
    for text in STEPS:
        for after in (False, True):
            where = {"first": first, "second": second, "workspace": worked, "monkeypatch": monkeypatch}
            assert await killed(text, after=after, **where), text
            name = f"{text} {after}"
            async with first.inside():
                here = (await call("PATCH", key, f"/v1/leads/{lead}", name=name)).status_code
            async with second.inside():
                there = (await call("PATCH", key, f"/v1/leads/{lead}", name=name)).status_code
            has_gone = text in STEPS[-2:]
            assert (here, there) in ({(503, 503)} if has_gone else {(200, 401), (200, 503)}), name
            accepted += [] if has_gone else [name]
    async with second.inside():
        await move.move(worked, first.url, first.keys)
        await settle(wire)
        assert (await call("PATCH", key, f"/v1/leads/{lead}", name="At last")).status_code == 200
        checks, _ = await invariants.check(wire.redis, wire.settings)
        assert [check for check in checks if check.broken] == []
        found = [json.loads(event.body)["data"] for event in await events.about(worked, "lead_id", lead)]
        assert {change["name"] for change in found} == {*accepted, "Ada"}
