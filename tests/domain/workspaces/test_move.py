"""A workspace moves to another installation and back: nothing is lost, and whatever is killed, one of them has it."""

import asyncio
import contextlib
import json
from collections import Counter, defaultdict

import asyncpg
import httpx
import pytest

from leadwire.delivery import feed as events
from leadwire.delivery.monitoring import ledger
from leadwire.domain.accounts import changes as accounts
from leadwire.domain.accounts import reads
from leadwire.domain.accounts.audit import reads as audit_log
from leadwire.domain.accounts.domains import reads as domains
from leadwire.domain.workspaces import changes, copy, fence, move
from leadwire.infrastructure import clock, db, secret_box
from leadwire.infrastructure.db import declared
from leadwire.infrastructure.db.engine import Engine
from leadwire.infrastructure.db.other import connected
from leadwire.infrastructure.db.statements import sql
from leadwire.infrastructure.errors import Conflict, NotFound
from leadwire.infrastructure.jobs import Offer
from tests import asgi, jobs, make
from tests import rows as every_table
from tests.domain.bots.conftest import published
from tests.domain.test_order_of_rows import restored
from tests.flows.commands import run, settings_on
from tests.waiting import eventually

pytestmark = pytest.mark.flow
RENEWED = {table.name: set(table.said.moved) for table in copy.tables() if table.said.moved}


async def rows():
    """Each table's rows, without what is new on each side."""
    found = {}
    for table in (table.name for table in copy.tables()):
        sealed = declared.sealed().get(table, [])
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


async def test_the_command_says_which_keys_lead_here(workspace, pair, servers, tmp_path):
    first, second = pair
    used, revoked = [await accounts.create_key(workspace, name) for name in ("CRM", "Old")]
    await accounts.revoke_key(workspace, revoked[0])
    await accounts.create_key((await changes.create("Beta"))[0], "Other")
    file = tmp_path / "first.env"
    file.write_text(f"LEADWIRE_DATABASE_URL={first.url}\nLEADWIRE_SECRET_KEY={first.keys[0]}\n")
    there = settings_on(servers) | {"DATABASE_URL": second.url, "SECRET_KEY": second.keys[0]}
    arguments = ("workspaces", "move", workspace, "--from", str(file), "--cell", "cell-b")
    done = await asyncio.to_thread(run, *arguments, **there)
    assert done.stdout.splitlines()[1:] == [f"{used[1].split('_')[1]} cell-b"], done.stderr
    again = await asyncio.to_thread(run, *arguments, "--json", **there)
    assert json.loads(again.stdout)["map"] == {used[1].split("_")[1]: "cell-b"}


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


async def test_what_a_restore_brought_stays_first_in_the_feed(workspace, bot, pair):
    first, second = pair
    async with restored():
        await make.somebody(workspace, bot)
    await make.somebody(workspace, bot)
    order = [event.id for event in (await events.feed(workspace)).events]
    async with second.inside():
        await move.move(workspace, first.url, first.keys)
        assert [event.id for event in (await events.feed(workspace)).events] == order


async def test_it_has_a_row_of_each_table(pair):
    first, second = pair
    connection = await asyncpg.connect(first.url)
    async with connection.transaction():
        await every_table.insert(connection, await connection.fetch(every_table.COLUMNS), "x")
        for table, columns in declared.sealed().items():
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


async def test_a_proof_of_a_domain_does_not_come_along(pair, workspace):
    """It counts for a week, in which it is checked here; unless another workspace here has proven it."""
    first, second = pair
    await make.domain(workspace, "a.example", proven=True)
    await make.domain(workspace, "b.example", proven=True)
    async with second.inside():
        theirs = await accounts.create_workspace("Theirs")
        await make.domain(theirs, "b.example", proven=True)
        await move.move(workspace, first.url, first.keys)
        assert await domains.due() == [Offer(one.id, workspace) for one in await domains.listed(workspace)]
        states = {one.name: one.state(clock.now()) for one in await domains.listed(workspace)}
        assert states == {"a.example": "taken_over", "b.example": "unproven"}
        assert await domains.counting(theirs, ["b.example"]) == {"b.example"}


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
            checks, _ = await ledger.check(wire.redis, wire.settings)
            assert [check for check in checks if check.broken] == []
        async with before.inside():
            gone = await call("GET", key)
            assert (gone.status_code, gone.json()["code"]) == (503, "workspace_moving")
            assert gone.headers["retry-after"] == "5"
            assert gone.json()["detail"] == "The workspace has moved to another installation."
            assert [(one.id, one.state) for one in await reads.workspace_list()] == [(worked, "moved")]
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


async def test_who_has_an_account_here_already_keeps_it_and_only_one_address_is_verified(worked, pair):
    first, second = pair
    await db.rows("UPDATE login SET verified_at = now()")
    async with second.inside():
        await db.rows(
            "INSERT INTO user_account (id, workspace_id, email, role, created_at)"
            " SELECT 'user_x', $1, upper($2), 'agent', now()",
            await accounts.create_workspace("Other"), "ada@example.org",
        )  # fmt: skip
        await db.rows("UPDATE login SET verified_at = now()")
        await move.move(worked, first.url, first.keys)
        adas = await db.rows(
            "SELECT l.id, verified_at IS NOT NULL FROM login l JOIN user_account u ON u.login_id = l.id"
            " WHERE lower(l.email) = 'ada@example.org' ORDER BY verified_at NULLS LAST"
        )
        assert [tuple(row) for row in adas] == [("user_x", True), (adas[1]["id"], False)]


class Killed(BaseException):
    """The process that moves is no more: nothing of it is tidied up."""


UNLOCKED = """SELECT NOT EXISTS (SELECT 1 FROM pg_locks WHERE locktype = 'advisory' AND classid IN (7226, 7227)
    AND database = (SELECT oid FROM pg_database WHERE datname = current_database()))"""


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
    async with first.inside():  # the server ends the session of a process that was killed a moment later
        await eventually(lambda: db.value(UNLOCKED))
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
        checks, _ = await ledger.check(wire.redis, wire.settings)
        assert [check for check in checks if check.broken] == []
        found = [json.loads(event.body)["data"] for event in await events.about(worked, "lead_id", lead)]
        assert {change["name"] for change in found} == {*accepted, "Ada"}
