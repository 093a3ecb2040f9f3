"""A deployment of real processes, for the tests of this folder."""

import asyncio
from collections.abc import AsyncIterator

import asyncpg
import httpx
import pytest
from redis.asyncio import Redis

from leadwire_development.embedded import Services
from tests.flows.commands import run, settings_on
from tests.flows.deployment import Deployment
from tests.flows.outages import Outage
from tests.receiver import Receiver


@pytest.fixture(scope="module")
def tablespace() -> str:
    """Where the files of this module's database are."""
    return "pg_default"


@pytest.fixture(scope="module")
async def settings(servers: Services, tablespace: str, request: pytest.FixtureRequest) -> dict[str, str]:
    """A migrated database of this module's own with an endpoint, and the third database of the session's Redis."""
    name = request.module.__name__.rpartition("_")[2]
    settings = settings_on(
        servers,
        DATABASE_URL=servers.database_url.replace("/leadwire?", f"/{name}?"),
        REDIS_URL=servers.redis_url.replace("db=0", "db=2"),
        LEASE="3",
        DELIVERY_TIMEOUT="2",
    )
    admin = await asyncpg.connect(servers.database_url)
    # A worker that has left the module may come back, for tests of it that another has given up.
    await admin.execute(f"DROP DATABASE IF EXISTS {name} WITH (FORCE)")
    await admin.execute(f"CREATE DATABASE {name} TABLESPACE {tablespace}")
    await admin.close()
    endpoint = ("endpoints", "create", "--url", "http://127.0.0.1:8080/", "--event", "lead.created", "--enable")
    for command in (("migrate",), endpoint):
        result = await asyncio.to_thread(run, *command, **settings)
        assert result.returncode == 0, result.stderr
    return settings


@pytest.fixture
async def deployment(settings: dict[str, str]) -> AsyncIterator[Deployment]:
    sql = await asyncpg.connect(settings["DATABASE_URL"])
    await sql.execute("TRUNCATE event, outbox, delivery, delivery_result, attempt")
    redis = Redis.from_url(settings["REDIS_URL"])
    await redis.flushdb()
    async with Receiver() as receiver:
        await sql.execute(
            """UPDATE webhook_endpoint SET url = $1, enabled = true, events = '{lead.created,lead.updated}',
                   open = false, due_at = now(), paused_until = NULL,
                   admission_window = 256, failing_since = NULL, failures = 0""",
            receiver.url,
        )
        deployment = Deployment(settings, sql, redis, receiver)
        try:
            yield deployment
        finally:
            for process in deployment.started:
                process.close()
            await deployment.sql.close()
            await redis.aclose()


@pytest.fixture
async def outage(deployment: Deployment, servers: Services) -> AsyncIterator[Outage]:
    # A receiver that hangs outlasts a server's stop.
    deployment.settings = deployment.settings | {"DELIVERY_TIMEOUT": "15", "LEASE": "20"}
    async with httpx.AsyncClient(trust_env=False, timeout=240) as http:
        made = Outage(deployment, servers, http)
        await made.begin()
        yield made


@pytest.fixture
async def api(outage: Outage) -> AsyncIterator[httpx.AsyncClient]:
    async with outage.api() as client:
        yield client
