"""What keeps dead rows from being removed is shown by gauges, and named by `leadwire doctor`, whatever it is doing."""

import asyncio
import contextlib

import asyncpg
import pytest

from leadwire.delivery.monitoring import holders
from leadwire.infrastructure import db
from leadwire.interfaces.cli.checks import postgres
from tests import make
from tests.delivery.test_gauges import shown
from tests.waiting import eventually

LOCK = 99_002
REPORT = f"SELECT count(*), pg_advisory_lock({LOCK}) FROM delivery"


@pytest.fixture
async def report(workspace, servers):
    """A report that runs for as long as the test, on a connection of another program."""
    async with contextlib.AsyncExitStack() as stack:
        held, reading = [
            await asyncpg.connect(servers.database_url, server_settings={"application_name": name})
            for name in ("holder", "report")
        ]
        stack.push_async_callback(held.close)
        await held.execute(f"SELECT pg_advisory_lock({LOCK})")
        await reading.execute("BEGIN ISOLATION LEVEL REPEATABLE READ")
        running = asyncio.create_task(reading.execute(REPORT))
        waiting = "SELECT count(*) FROM pg_locks WHERE locktype = 'advisory' AND objid = $1 AND NOT granted"
        await eventually(lambda: db.value(waiting, LOCK))
        yield reading.get_server_pid()
        await held.execute(f"SELECT pg_advisory_unlock({LOCK})")
        await running
        await reading.close()


async def test_an_active_report_is_seen_and_named(report, workspace, bot, monkeypatch):
    await make.lead(workspace, bot)
    await holders.update()
    assert shown(holders.TRANSACTIONS)["transaction"] > 0
    assert shown(holders.SECONDS)["transaction"] > 0
    (holder,) = [holder for holder in await holders.holders() if holder.name == f"pid {report}"]
    assert (holder.kind, holder.query) == ("transaction", REPORT)
    assert holder.about == "report, user postgres, database leadwire, active"
    assert holder.transactions > 0
    monkeypatch.setattr(postgres, "_LONGEST", 0)
    finding = await postgres._holders()
    assert (finding.level, finding.about) == ("warning", "transactions left open")
    assert f"transaction pid {report} (report, user postgres, database leadwire, active), open for " in finding.says
    assert finding.says.endswith(REPORT)


async def test_nothing_is_shown_where_nobody_holds_anything(workspace):
    await eventually(_nobody)


async def _nobody() -> bool:
    """Not while an autovacuum holds something, which may begin at any moment."""
    await holders.update()
    return (
        shown(holders.SECONDS) == {"transaction": 0, "prepared": 0}
        and shown(holders.TRANSACTIONS) == {"transaction": 0, "prepared": 0, "slot": 0, "standby": 0}
        and (await postgres._holders()).level == "ok"
    )


async def test_a_writer_in_another_database_holds_and_its_snapshot_does_not(workspace, bot, servers):
    await db.rows("CREATE DATABASE elsewhere TEMPLATE template0")
    try:
        foreign = await asyncpg.connect(servers.database_url.replace("/leadwire?", "/elsewhere?"))
        await foreign.execute("BEGIN ISOLATION LEVEL REPEATABLE READ; SELECT count(*) FROM pg_class")
        of_foreign = [f"pid {foreign.get_server_pid()}"]
        found = [(one.name, one.transactions) for one in await holders.holders() if one.name in of_foreign]
        assert found == [(*of_foreign, None)], "seen, since it is left open"
        await foreign.execute("CREATE TABLE foreign_table ()")
        await make.lead(workspace, bot)
        ages = [one.transactions for one in await holders.holders() if one.name in of_foreign]
        assert all(ages)
        assert ages
        await foreign.close()
    finally:
        await db.rows("DROP DATABASE elsewhere WITH (FORCE)")


async def test_a_slot_that_nobody_reads_is_seen_by_the_log_that_it_keeps(workspace, bot, monkeypatch):
    await db.rows("SELECT pg_create_physical_replication_slot('abandoned', true)")
    try:
        await make.lead(workspace, bot)
        await holders.update()
        assert shown(holders.WAL) > 0
        monkeypatch.setattr(postgres, "_MOST_KEPT", 0)
        assert "slot abandoned (not in use), keeps " in (await postgres._holders()).says
    finally:
        await db.rows("SELECT pg_drop_replication_slot('abandoned')")


async def test_dead_rows_of_each_table_of_open_work_are_counted(workspace, bot):
    await holders.update()
    assert set(shown(holders.DEAD)) == {"delivery", "job", "outbox", "webhook_endpoint"}


async def test_the_share_that_is_free_is_shown_where_the_files_are_here(servers):
    await holders.update()
    share = shown(holders.SPACE)
    assert 0 <= share < 1
    disk = await holders.disk()
    assert disk.folder == await db.value("SHOW data_directory")
    async with db.transaction():
        await db.rows("CREATE ROLE nobody_told NOLOGIN")
        await db.rows("SET LOCAL ROLE nobody_told")
        assert await holders.disk() is None
        await db.rows("RESET ROLE")
        await db.rows("DROP ROLE nobody_told")
