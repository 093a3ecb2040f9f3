"""What a delivered event costs the servers: statements, the partitions they read, and trips to Redis."""

import asyncio

import hiredis
import pytest
from redis.asyncio.connection import AbstractConnection

from leadwire.delivery import streams
from leadwire.domain.leads import changes as leads
from leadwire.domain.leads.schema import LeadPatch
from leadwire.domain.webhooks import changes as endpoints
from leadwire.domain.webhooks import reads
from leadwire.domain.webhooks.schema import EndpointChange
from leadwire.infrastructure import clock, db, redis_pool
from leadwire.infrastructure.redis_direct import Line
from tests import make
from tests.delivery.wired import endpoint
from tests.plans.explained import nodes, plans_of


@pytest.fixture
async def statements(monkeypatch) -> list[str]:
    """The beginnings of all statements; BEGIN for each transaction."""
    sent: list[str] = []
    fetch, transaction = db.DB.fetch, db.DB.transaction

    async def noted(sql, args):
        if "INTO endpoint_hour" not in sql:  # counts for plots, written by a timer that another test may have set
            sent.append(" ".join(sql.split()[:3]))
        return await fetch(sql, args)

    def begun(*options):
        sent.append("BEGIN")
        return transaction(*options)

    monkeypatch.setattr(db.DB, "fetch", noted)
    monkeypatch.setattr(db.DB, "transaction", begun)
    return sent


@pytest.fixture
def trips(redis, monkeypatch) -> list[bytes]:
    """What is sent to Redis, with one entry for all that goes together."""
    sent: list[bytes] = []
    send, ask = AbstractConnection.send_packed_command, Line.ask

    async def noted(connection, command, **options):
        packed = command if isinstance(command, bytes) else b"".join(command)
        if packed.split(b"\r\n")[2] not in (b"HELLO", b"CLIENT", b"SELECT", b"AUTH"):  # of a new connection
            sent.append(packed)
        await send(connection, command, **options)

    async def asked(line, command):
        sent.append(hiredis.pack_command(command))
        return await ask(line, command)

    monkeypatch.setattr(AbstractConnection, "send_packed_command", noted)
    monkeypatch.setattr(Line, "ask", asked)
    return sent


@pytest.fixture
async def lead(workspace, bot, wire, receiver):
    """A lead of whose changes an open endpoint is told."""
    await endpoint(workspace, receiver.url, "lead.updated")
    await wire.relay()
    return await make.lead(workspace, bot)


async def pushed() -> None:
    """The streams have what changes have queued."""
    while redis_pool._background_tasks:
        await asyncio.wait(redis_pool._background_tasks)


@pytest.mark.parametrize("changes", [1, 20])
async def test_a_delivered_event_takes_a_statement_beside_its_share_of_two(
    workspace, lead, wire, receiver, statements, changes
):
    """The change with its event and delivery; the claim; the record. No transaction, and nothing of the relay."""
    for number in range(changes):
        statements.clear()
        await leads.update(workspace, lead.id, LeadPatch(name=f"Ada {number}"), unchanged={})
        assert len(statements) == 2, "it reads the lead"
        assert statements[1] == "WITH changed AS"
    statements.clear()
    await pushed()
    jobs = await wire.claim()
    assert len(jobs) == changes
    assert len(statements) == 1
    done = await wire.post(jobs)
    statements.clear()
    await wire.settle(done)
    assert len(statements) == 1
    assert len(receiver.deliveries) == changes
    assert await db.value("SELECT count(*) FROM delivery_result WHERE state = 'delivered'") == changes


@pytest.mark.parametrize(("change", "rows"), [(LeadPatch(score=9), 4), (LeadPatch(name="Grace"), 5)])
async def test_a_change_writes_a_row_of_each_kind(workspace, lead, change, rows):
    """The lead, its place in lists by update, the event, the delivery; and that it is to be indexed, if that is so."""
    written = "SELECT sum(n_tup_ins + n_tup_upd + n_tup_del) FROM pg_stat_xact_user_tables"
    async with db.transaction():
        before = await db.value(written)  # of this connection, and not told yet
        await leads.update(workspace, lead.id, change, unchanged={})
        assert await db.value(written) - before == rows
    await pushed()


@pytest.mark.parametrize("changes", [1, 20])
async def test_a_delivered_event_takes_one_trip_to_redis_beside_its_share_of_two(
    workspace, lead, wire, receiver, trips, changes
):
    """After the commit its entry, and with it the wake of whoever follows the feed; what is read; what is done."""
    await pushed()  # what the lead's own event has announced
    for number in range(changes):
        trips.clear()
        await leads.update(workspace, lead.id, LeadPatch(name=f"Ada {number}"), unchanged={})
        await pushed()
        (trip,) = trips
        assert b"leadwire:feed:" + workspace.encode() + b":lead.updated" in trip
    trips.clear()
    entries = await wire.read()
    assert len(entries) == changes
    assert len(trips) == 1
    done = await wire.post(await wire.claim_as(wire.consumer, entries))
    await wire.settle(done)
    assert len(trips) == 2
    assert await streams.length(wire.redis, wire.settings.stream_shards) == 0


async def test_a_number_takes_one_transaction_for_all_that_is_claimed(workspace, lead, wire, receiver, statements):
    (made,) = await reads.endpoints(workspace)
    await endpoints.configure(workspace, made.id, EndpointChange(numbered=True))
    for number in range(20):
        await leads.update(workspace, lead.id, LeadPatch(name=f"Ada {number}"), unchanged={})
    await wire.relay()
    statements.clear()
    jobs = await wire.claim()
    assert sorted(job.sequence for job in jobs) == list(range(1, 21))
    assert [one.split()[0] for one in statements] == ["WITH", "BEGIN", "SELECT", "WITH"]


async def test_a_claim_reads_the_one_partition_of_its_day(workspace, lead, wire, receiver):
    await leads.update(workspace, lead.id, LeadPatch(name="Grace"), unchanged={})
    await pushed()
    (plan,) = await plans_of(wire.claim)
    read = [node["Relation Name"] for node in nodes(plan) if "Scan" in node["Node Type"] and "Relation Name" in node]
    assert [name for name in read if name.startswith(("event", "attempt", "delivery_"))] == [
        f"event_{clock.now():%Y%m%d}"
    ]
    assert "Seq Scan" not in {node["Node Type"] for node in nodes(plan)}
