"""A deleted workspace is gone from every table there is, whatever interrupts it, and nothing else is touched."""

import asyncio

import asyncpg
import pytest

from leadwire.domain.accounts import reads
from leadwire.domain.accounts.audit import reads as log
from leadwire.domain.workspaces import changes, usage
from leadwire.infrastructure import db, ids
from leadwire.infrastructure.errors import Conflict, Unavailable
from tests import make
from tests.delivery.wired import endpoint
from tests.flows.commands import Started, refused, run, settings_on
from tests.rows import COLUMNS, insert
from tests.waiting import eventually

INSTALLATION = {"epoch", "ledger_check", "migration"}
"""Tables of which nothing belongs to a workspace."""


@pytest.fixture
async def sql(servers, database):
    connection = await asyncpg.connect(servers.database_url)
    yield connection
    await connection.close()
    await db.rows("SELECT test_clock.empty_tables()")  # not every row of these tests could have been made by us


async def rows_without(*texts: str) -> dict[str, list[str]]:
    """Every row of every table that has none of these texts."""
    stored = await make.stored()
    return {name: [row for row in rows if not any(text in row for text in texts)] for name, rows in stored.items()}


async def test_nothing_is_left_in_any_table_and_nothing_of_another_workspace_is_gone(sql, monkeypatch):
    columns = await sql.fetch(COLUMNS)
    mine, theirs = ids.new("evt"), ids.new("evt")  # in the partitions of today
    for workspace in (mine, theirs):
        await insert(sql, columns, workspace)
    before = await make.stored()
    assert {name for name, rows in before.items() if any(mine in row for row in rows)} >= set(before) - INSTALLATION
    expected = {name: rows if name in INSTALLATION else [] for name, rows in before.items()} | {
        name: rows for name, rows in (await rows_without(mine)).items() if name not in INSTALLATION
    }
    monkeypatch.setattr(changes, "BATCH", 1)

    await changes.delete(mine)

    told = [row for row in (await make.stored())["audit_entry"] if "workspace.delet" in row]
    after = await rows_without("workspace.delet")
    after["audit_count"] = [row for row in after["audit_count"] if ",,1," not in row]  # those two
    assert after == expected
    assert len(told) == 2
    assert {row["action"] for row in await log.of_installation()} == {
        "workspace.deletion_began", "workspace.deleted",
    }  # fmt: skip


async def test_what_a_workspace_has_done_goes_with_it(workspace, bot, client, wire, receiver, monkeypatch):
    monkeypatch.setattr(changes, "BATCH", 2)
    await endpoint(workspace, receiver.url, "lead.created", "lead.updated")
    found = [await make.somebody(workspace, bot) for _ in range(5)]
    for lead in found:
        answer = await client.patch(f"/v1/leads/{lead.id}", json={"score": 9}, headers={"Idempotency-Key": lead.id})
        assert answer.status_code == 200
    await wire.turn()
    await make.somebody(workspace, bot)  # and its delivery is still to be sent
    other, _ = await changes.create("Other")
    await changes.delete(workspace)
    assert await db.value("SELECT id FROM workspace") == other
    for table in ("lead", "conversation", "message", "event", "delivery", "delivery_result", "attempt", "outbox",
                  "webhook_endpoint", "bot", "api_key", "idempotent_answer", "discard"):  # fmt: skip
        assert await db.value(f"SELECT count(*) FROM {table}") == 0, table
    assert await wire.turn() == []


async def test_what_is_being_sent_is_waited_for(workspace, bot, wire, receiver, monkeypatch):
    monkeypatch.setattr(changes, "_LOOK", 0.01)
    await endpoint(workspace, receiver.url)
    await make.somebody(workspace, bot)
    await wire.relay()
    done = await wire.post(await wire.claim())
    deleting = asyncio.create_task(changes.delete(workspace))
    await eventually(lambda: db.value("SELECT count(*) = 1 FROM event"))  # the others of the same change are gone
    assert await db.value("SELECT count(*) FROM lead") == 0
    await wire.settle(done)
    await deleting
    for table in ("event", "delivery", "delivery_result", "attempt", "workspace"):
        assert await db.value(f"SELECT count(*) FROM {table}") == 0, table


async def test_a_conversation_that_begins_meanwhile_goes_as_well(workspace, bot, monkeypatch):
    delete_some, late = changes._delete_some, []

    async def deleted(statement, workspace, most):
        if "DELETE FROM lead " in statement.text and not late:
            late.append(await make.conversation(workspace, bot))
        return await delete_some(statement, workspace, most)

    monkeypatch.setattr(changes, "_LOOK", 0.01)
    monkeypatch.setattr(changes, "_delete_some", deleted)
    await changes.delete(workspace)
    assert await db.value("SELECT count(*) FROM workspace") == 0
    assert await db.value("SELECT count(*) FROM event") == 0


async def test_it_ends_also_where_conversations_never_do(workspace, bot, monkeypatch):
    monkeypatch.setattr(changes, "_LOOK", 0.01)
    delete_some = changes._delete_some

    async def deleted(statement, workspace, most):
        if "DELETE FROM lead " in statement.text:
            await make.conversation(workspace, bot)
        return await delete_some(statement, workspace, most)

    monkeypatch.setattr(changes, "_delete_some", deleted)
    with pytest.raises(Unavailable):
        await changes.delete(workspace)
    monkeypatch.undo()
    await changes.delete(workspace)
    assert await db.value("SELECT count(*) FROM workspace") == 0


@pytest.mark.flow
async def test_after_a_kill_it_goes_on(servers, sql, workspace, bot):
    await make.lead(workspace, bot)
    access = settings_on(servers)
    command = ("workspaces", "delete", workspace, "--yes")
    assert "nothing was deleted" in refused(await asyncio.to_thread(run, *command, "Tset", **access))
    assert "--yes" in refused(await asyncio.to_thread(run, *command[:-1], **access))
    assert await reads.workspace_list() != []
    assert await db.value("SELECT suspended_at IS NULL FROM workspace")

    held = sql.transaction()
    await held.start()
    await sql.execute("SELECT FROM bot FOR UPDATE")
    doomed = Started(*command, "Test", **access)
    try:
        await eventually(lambda: db.value("SELECT count(*) = 0 FROM lead"))
        doomed.process.kill()
        doomed.process.wait()
    finally:
        doomed.close()
        await held.rollback()
    assert [one.state for one in await reads.workspace_list()] == ["being deleted"]
    assert await usage.unfinished() == [(workspace, "Test")]
    with pytest.raises(Conflict):
        await changes.resume(workspace)

    again = await asyncio.to_thread(run, *command, "Test", **access)
    assert again.returncode == 0, again.stderr
    left = {name for name, rows in (await make.stored()).items() if any(workspace in row for row in rows)}
    assert left == {"audit_entry"}  # that it is deleted
