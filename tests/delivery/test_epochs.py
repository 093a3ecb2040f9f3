"""What the feed, the totals, the ledger and numbers say after a restore and after a failover that lost something."""

import asyncio
import json
import sqlite3
from contextlib import closing

import pytest

from leadwire.delivery import epochs
from leadwire.delivery.feed import feed
from leadwire.domain.leads import reads as leads
from leadwire.domain.leads.reads import LeadQuery
from leadwire.infrastructure import db, settings
from leadwire.infrastructure.errors import InvalidParameter
from leadwire.infrastructure.settings import Settings
from leadwire_client.inbox import NUMBER_TABLE, TABLE, check_numbers, once
from leadwire_development.embedded import services
from tests.delivery.elsewhere import moved_to, standby, standby_url, tool, use_transactions
from tests.delivery.test_feed import person, read_to_the_end, settled
from tests.delivery.test_numbers import numbered
from tests.flows.commands import data_directory, run

TRANSACTIONS = 5_000
AHEAD = "SELECT count(*) FROM event WHERE xact >= pg_snapshot_xmax(pg_current_snapshot())"


async def total(workspace: str) -> int:
    return (await leads.page(workspace, LeadQuery()))[1]


async def test_a_cursor_survives_a_dump_and_restore(workspace, bot, servers, tmp_path):
    """The new server counts its transactions from the beginning, and comes to the numbers of the old one later."""
    await use_transactions(TRANSACTIONS)
    await person(workspace, bot)
    await person(workspace, bot)
    await settled()
    old, last = await read_to_the_end(workspace)
    dump = str(tmp_path / "leadwire.dump")
    await tool("pg_dump", "--format=custom", "--file", dump, servers.database_url)
    with data_directory() as directory, services(Settings(data_dir=directory), durable=False) as new:
        await tool("pg_restore", "--exit-on-error", "--single-transaction", "--dbname", new.database_url, dump)
        async with moved_to(new.database_url):
            assert await db.value(AHEAD) == len(old)
            assert (await read_to_the_end(workspace))[0] == old
            await person(workspace, bot)
            await settled()
            first, read = await read_to_the_end(workspace, last)
            assert len(first) == len(old) / 2
            await use_transactions(2 * TRANSACTIONS)
            await person(workspace, bot)
            await settled()
            second, _ = await read_to_the_end(workspace, read)
            assert len(second) == len(old) / 2
            assert not set(second) & {*old, *first}, "what was read comes again"
            assert (await read_to_the_end(workspace, last))[0] == first + second, "some are skipped"
            assert (await read_to_the_end(workspace))[0] == old + first + second


async def test_only_another_server_is_told_of(database, caplog):
    caplog.set_level("WARNING", "leadwire")
    assert await epochs.note()
    assert not await epochs.note()
    assert not caplog.records
    assert await epochs.begun() == []
    await db.rows("UPDATE epoch SET server = 'another'")
    assert await epochs.note()
    assert "epoch.began" in caplog.text
    assert [epoch.last_event for epoch in await epochs.begun()] == [None]


async def test_a_standby_that_lacks_the_last_seconds_says_so(workspace, bot, servers, wire, receiver):
    await epochs.note()
    await numbered(workspace, receiver, "lead.created")
    await person(workspace, bot)
    await settled()
    await wire.turn()
    _, known = await read_to_the_end(workspace)
    async with standby(servers, settings.get().data_dir) as following:
        await following.cut_off()
        for _ in range(3):
            await person(workspace, bot)
        await wire.turn()
        await settled()
        lost, cursor = await read_to_the_end(workspace, known)
        assert await total(workspace) == 4
        await following.promote()
        async with moved_to(standby_url(following), restarted=False):
            await person(workspace, bot)  # a process commits before it is noted
            assert await epochs.note()
            (began,) = await epochs.begun()
            assert began.last_event == known
            assert await total(workspace) == 2
            await person(workspace, bot)
            await person(workspace, bot)
            await wire.turn()
            await settled()
            assert await total(workspace) == 4
            new = (await read_to_the_end(workspace, known))[0]
            assert len(new) == len(lost)
            assert not set(new) & set(lost)
            with pytest.raises(InvalidParameter, match="lost"):
                await feed(workspace, cursor)
        deliveries = [(int(one.headers["x-service-sequence"]), one.webhook_id) for one in receiver.deliveries]
        assert sorted(number for number, _ in deliveries) == [1, 2, 2, 3, 3, 4, 4]
        with closing(sqlite3.connect(":memory:")) as connection:
            connection.executescript(f"{TABLE}; {NUMBER_TABLE}")
            for number, webhook_id in deliveries:
                with once(connection, webhook_id, number=number):
                    pass
            missing, repeated = check_numbers(connection)
        assert missing == []
        assert repeated == {number: sorted(id_ for n, id_ in deliveries if n == number) for number in (2, 3, 4)}
        where = {"DATABASE_URL": standby_url(following), "REDIS_URL": servers.redis_url}
        ledger = await asyncio.to_thread(run, "ledger", **where)
        assert ledger.returncode == 0
        assert "may be lost" in ledger.stdout
        assert known in ledger.stdout
        (epoch,) = json.loads((await asyncio.to_thread(run, "ledger", "--json", **where)).stdout)["epochs"]
        assert epoch["last_event"] == known


async def test_a_dump_that_is_restored_where_a_standby_was_promoted_keeps_its_events(workspace, bot, servers, tmp_path):
    await epochs.note()
    async with standby(servers, settings.get().data_dir) as following:
        await following.cut_off()
        await person(workspace, bot)
        await settled()
        old, last = await read_to_the_end(workspace)
        dump = str(tmp_path / "leadwire.dump")
        await tool("pg_dump", "--format=custom", "--file", dump, servers.database_url)
        await following.promote()
        where = standby_url(following).replace("/leadwire?", "/restored?")
        await tool("createdb", "--maintenance-db", standby_url(following), "restored")
        await tool("pg_restore", "--exit-on-error", "--single-transaction", "--dbname", where, dump)
        async with moved_to(where):
            assert (await read_to_the_end(workspace))[0] == old
            (began,) = await epochs.begun()
            assert began.last_event == last
