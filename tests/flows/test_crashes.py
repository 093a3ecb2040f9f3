"""Each process alone, on servers that others run, and killed with its hands full: every event arrives."""

import asyncio
import signal
import socket
from collections import Counter
from collections.abc import AsyncIterator

import asyncpg
import pytest
from redis.asyncio import Redis

from leadwire import ids
from leadwire.embedded import Services
from tests.flows.commands import Started, run
from tests.receiver import Receiver
from tests.waiting import eventually

pytestmark = pytest.mark.flow

EVENTS = """
INSERT INTO outbox_event (id, workspace_id, kind, body, occurred_at)
SELECT id, $1, 'lead.created',
       '{"event":"lead.created","timestamp":"2026-01-01T00:00:00.000Z","data":{"of":"' || id || '"}}', now()
FROM unnest($2::text[]) id"""
AGED = """
UPDATE delivery SET queued_at = now() - interval '1 minute'
WHERE state = 'queued' AND queued_at > now() - interval '40 s'"""


class Wire:
    """A database and a Redis of its own, a receiver, and the processes started so far."""

    def __init__(self, settings: dict[str, str], sql: asyncpg.Connection, redis: Redis, receiver: Receiver) -> None:
        self.settings = settings
        self.sql = sql
        self.redis = redis
        self.receiver = receiver
        self.started: list[Started] = []

    async def start(self, *arguments: str) -> Started:
        process = Started(*arguments, **self.settings)
        self.started.append(process)
        await eventually(lambda: "process.started" in process.err or not process.running(), 20)
        assert process.running(), process.err
        return process

    async def state(self, state: str) -> int:
        return int(await self.sql.fetchval("SELECT count(*) FROM delivery WHERE state = $1", state))

    async def all_delivered(self, count: int, seconds: float = 30) -> None:
        """Every event arrived and is written down as delivered; what came twice came under one id."""

        async def done() -> bool:
            return await self.state("delivered") == count

        await eventually(done, seconds)
        arrived = Counter(one.webhook_id for one in self.receiver.deliveries)
        assert set(arrived) == {row["id"] for row in await self.sql.fetch("SELECT id FROM outbox_event")}
        bodies = {(one.webhook_id, one.body) for one in self.receiver.deliveries}
        assert len(bodies) == len(arrived) == count
        ledger = await asyncio.to_thread(run, "ledger", "--json", **self.settings)
        assert ledger.returncode == 0, ledger.stdout


@pytest.fixture(scope="module")
async def settings(servers: Services) -> dict[str, str]:
    """A migrated database of this module's own with an endpoint, and the third database of the session's Redis."""
    settings = {
        "DATABASE_URL": servers.database_url.replace("/leadwire?", "/crashes?"),
        "REDIS_URL": servers.redis_url.replace("db=0", "db=2"),
        "SECRET_KEY": "AAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAA=",
        "ALLOWED_NETWORKS": "127.0.0.0/8",
        "LEASE": "3",
        "DELIVERY_TIMEOUT": "2",
        "RETRY_SCHEDULE": "1,1,1",
    }
    admin = await asyncpg.connect(servers.database_url)
    await admin.execute("CREATE DATABASE crashes")
    await admin.close()
    endpoint = ("endpoints", "create", "--url", "http://127.0.0.1:8080/", "--event", "lead.created", "--enable")
    for command in (("migrate",), endpoint):
        result = await asyncio.to_thread(run, *command, **settings)
        assert result.returncode == 0, result.stderr
    return settings


@pytest.fixture
async def wire(settings: dict[str, str]) -> AsyncIterator[Wire]:
    sql = await asyncpg.connect(settings["DATABASE_URL"])
    await sql.execute("TRUNCATE outbox_event, delivery, attempt")
    redis = Redis.from_url(settings["REDIS_URL"])
    await redis.flushdb()
    async with Receiver() as receiver:
        await sql.execute("UPDATE webhook_endpoint SET url = $1", receiver.url)
        wire = Wire(settings, sql, redis, receiver)
        try:
            yield wire
        finally:
            for process in wire.started:
                process.close()
            await sql.close()
            await redis.aclose()


async def write(wire: Wire, count: int) -> None:
    """Events as a change would leave them, committed."""
    workspace = await wire.sql.fetchval("SELECT id FROM workspace")
    await wire.sql.execute(EVENTS, workspace, [ids.new("evt") for _ in range(count)])


async def test_a_killed_worker_is_taken_over_by_another(wire: Wire) -> None:
    await wire.start("relay")
    doomed = await wire.start("deliver")
    wire.receiver.hang()
    await write(wire, 60)
    await wire.receiver.received(1)
    await eventually(lambda: wire.state("queued"))
    doomed.process.kill()
    doomed.process.wait()
    wire.receiver.release()
    await wire.start("deliver")
    await wire.all_delivered(60)
    assert len(wire.receiver.deliveries) > 60  # those in flight came twice, under one id


async def test_a_killed_relay_is_taken_over_by_another(wire: Wire) -> None:
    doomed = await wire.start("relay")
    await wire.start("deliver")
    await write(wire, 300)
    await wire.receiver.received(1)
    doomed.process.kill()
    await write(wire, 300)
    await wire.start("relay")
    # What it had committed and not yet put into a stream is found by its age: older by SQL, so that nobody waits.
    await wire.sql.execute(AGED)
    await wire.all_delivered(600)


async def test_a_flushed_redis_in_the_middle_loses_none_of_2000(wire: Wire) -> None:
    await wire.start("relay")
    await wire.start("deliver")
    await write(wire, 2000)
    await wire.receiver.received(300)
    await wire.redis.flushall()
    assert len(wire.receiver.deliveries) < 2000
    await write(wire, 100)

    async def older() -> bool:
        """Not a minute's wait: what is queued and has no entry is made older."""
        await wire.sql.execute(AGED)
        return await wire.state("delivered") == 2100

    await eventually(older, 40)
    await wire.all_delivered(2100)


async def test_a_worker_told_to_stop_finishes_what_it_has_in_hand(wire: Wire) -> None:
    relay = await wire.start("relay")
    worker = await wire.start("deliver")
    wire.receiver.hang()
    await write(wire, 40)
    await wire.receiver.received(1)
    worker.process.send_signal(signal.SIGTERM)
    wire.receiver.release()
    assert await asyncio.to_thread(worker.process.wait, 10) == 0
    assert "process.stopped" in worker.err
    delivered = await wire.state("delivered")
    assert delivered == len(wire.receiver.deliveries) >= 1  # nothing it sent is forgotten
    await wire.start("deliver")
    await wire.all_delivered(40)
    assert len(wire.receiver.deliveries) == 40  # and nothing was sent twice
    assert relay.signal() == 0


async def test_serve_stops_cleanly_and_answers_what_it_had_begun(wire: Wire) -> None:
    with socket.socket() as probe:
        probe.bind(("127.0.0.1", 0))
        port = probe.getsockname()[1]
    serve = await wire.start("serve", "--port", str(port))

    async def ready() -> bool:
        try:
            reader, writer = await asyncio.open_connection("127.0.0.1", port)
        except OSError:
            return False
        writer.write(b"GET /health/ready HTTP/1.1\r\nHost: test\r\nConnection: close\r\n\r\n")
        answer = await reader.read()
        writer.close()
        return answer.startswith(b"HTTP/1.1 200")

    await eventually(ready)
    assert await asyncio.to_thread(serve.signal) == 0
    assert not await ready()
