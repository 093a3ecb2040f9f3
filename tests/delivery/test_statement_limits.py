"""No statement runs for ever: each role has its limit, the answer is 503, and the engine's loops go on."""

import asyncio
import contextlib
import sys
from asyncio.subprocess import PIPE

import pytest

from leadwire.delivery.relay import loop, partitions
from leadwire.delivery.relay.loop import Relay
from leadwire.delivery.relay.partitions import maintain
from leadwire.domain.accounts.table import Workspace
from leadwire.domain.leads import reads as leads
from leadwire.infrastructure import db
from leadwire.infrastructure.db import engine
from leadwire.infrastructure.db.engine import LIMITS
from tests import catalog, make
from tests.delivery.wired import endpoint
from tests.waiting import eventually

SLOW = "SELECT pg_sleep(600)"
ENDED = "SELECT NOT EXISTS (SELECT 1 FROM pg_stat_activity WHERE query = $1 AND state = 'active')"


async def slow(*_: object) -> object:
    return await db.value(SLOW)


async def _renamed_slowly() -> None:
    async with db.transaction():
        await db.rows("UPDATE workspace SET name = 'changed'")
        await db.rows(SLOW)


async def test_a_slow_statement_of_the_api_is_ended_and_answered_with_503(client, monkeypatch, caplog):
    monkeypatch.setitem(LIMITS, "api", 0.5)
    monkeypatch.setattr(leads, "page", slow)
    answer = await client.get("/v1/leads")
    assert (answer.status_code, answer.json()["code"]) == (503, "unavailable")
    assert answer.headers["retry-after"] == "5"
    assert "request.unavailable" in [line.getMessage() for line in caplog.records]
    await eventually(lambda: db.value(ENDED, SLOW))
    monkeypatch.undo()
    assert (await client.get("/v1/leads")).status_code == 200


async def test_a_transaction_with_a_slow_statement_is_undone_and_its_connection_serves_on(workspace, monkeypatch):
    monkeypatch.setitem(LIMITS, "pages", 0.5)
    with db.acting_as("pages"), pytest.raises(db.Canceled):
        await _renamed_slowly()
    assert await db.value("SELECT name FROM workspace") == "Test"


@pytest.mark.parametrize("together", [db.transaction, contextlib.nullcontext], ids=["in a transaction", "alone"])
async def test_a_query_of_piccolos_has_the_limit_and_is_part_of_the_transaction(workspace, monkeypatch, together):
    monkeypatch.setitem(LIMITS, "pages", 0.5)

    async def act():
        async with together():
            await Workspace.update({Workspace.name: "changed"}).where(Workspace.id == workspace)
            await Workspace.raw(SLOW)

    with db.acting_as("pages"), pytest.raises(db.Canceled):
        await act()
    changed = together is contextlib.nullcontext
    assert await Workspace.select(Workspace.name) == [{"name": "changed" if changed else "Test"}]


async def test_the_relay_goes_on_after_a_statement_that_took_too_long(workspace, bot, wire, receiver, monkeypatch):
    await endpoint(workspace, receiver.url)
    await make.lead(workspace, bot)
    assert await db.value("SELECT count(*) FROM outbox") == 1

    def failed():
        return catalog.value("leadwire_loop_failures_total", loop="fan_out")

    fan_out, began = loop.fan_out, failed()

    async def slow_once(*args, **kwargs):
        return await (fan_out(*args, **kwargs) if failed() > began else slow())

    monkeypatch.setattr(loop, "fan_out", slow_once)
    monkeypatch.setattr(db.DB, "role", "engine")
    monkeypatch.setitem(LIMITS, "engine", 1.0)
    stop = asyncio.Event()
    relay = asyncio.create_task(Relay(wire.redis, wire.settings).run(stop))
    await eventually(lambda: db.value("SELECT NOT EXISTS (SELECT 1 FROM outbox)"))
    assert failed() > began
    stop.set()
    await relay


async def test_maintenance_has_no_limit(workspace, wire, monkeypatch):
    assert LIMITS["maintenance"] is None
    assert db.DB.role == "maintenance", "what opens a pool without a role, such as migrations, is not limited"
    seen = []

    async def noted(days: int):
        seen.append(engine._role.get())
        return await maintain(days)

    monkeypatch.setattr(partitions, "maintain", noted)
    await Relay(wire.redis, wire.settings).maintain()
    assert seen == ["maintenance"]


STOPPED = """
import asyncio, signal, sys
from leadwire.infrastructure import db

async def main():
    db._PROCESS["idle_in_transaction_session_timeout"] = "2s"
    await db.open_pool(sys.argv[1], 1, role="engine")
    async with db.transaction():
        await db.rows("UPDATE workspace SET name = 'held'")
        print("locked", flush=True)
        signal.pause()

asyncio.run(main())
"""


async def test_a_process_that_stops_amid_a_transaction_holds_nobody_up(workspace, servers):
    process = await asyncio.create_subprocess_exec(sys.executable, "-c", STOPPED, servers.database_url, stdout=PIPE)
    try:
        assert await process.stdout.readline() == b"locked\n"
        async with asyncio.timeout(240):  # before, it waited until the process was continued or killed
            await db.rows("UPDATE workspace SET name = 'free'")
    finally:
        process.kill()
        await process.wait()
    assert await db.value("SELECT name FROM workspace") == "free"
