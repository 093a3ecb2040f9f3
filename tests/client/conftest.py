"""The client on the real API: asynchronous within the process, blocking through a real server on a real socket."""

import asyncio
from collections.abc import AsyncIterator

import asyncpg
import httpx
import pytest

from leadwire.infrastructure import process, serving
from leadwire_client import AsyncLeadwire, Retry
from leadwire_client.inbox import NUMBER_TABLE, TABLE
from leadwire_development.embedded import Services
from tests import asgi


@pytest.fixture
def in_process() -> httpx.ASGITransport:
    return asgi.transport()


@pytest.fixture
async def api(in_process: httpx.ASGITransport, api_key: str) -> AsyncIterator[AsyncLeadwire]:
    async with AsyncLeadwire(api_key, "http://test", transport=in_process, retry=Retry(first_wait=0)) as client:
        yield client


@pytest.fixture
async def base_url(database: None) -> AsyncIterator[str]:
    """A server of the API; blocking clients are to be used in a thread, beside its loop."""
    stop = asyncio.Event()
    with process.bind("127.0.0.1", 0) as listening:
        running = asyncio.create_task(serving.serve_until(stop, asgi.app(), listening))
        yield f"http://127.0.0.1:{listening.getsockname()[1]}"
        stop.set()
        await running


@pytest.fixture
async def tables(database: None, servers: Services) -> AsyncIterator[asyncpg.Connection]:
    """An empty inbox and an empty table of effects in PostgreSQL, away from our own tables."""
    connection = await asyncpg.connect(servers.database_url)
    await connection.execute(f"CREATE SCHEMA receiver; SET search_path = receiver; {TABLE}; {TABLE}")
    await connection.execute(f"{NUMBER_TABLE}; CREATE TABLE effect (n int)")
    yield connection
    await connection.execute("DROP SCHEMA receiver CASCADE")
    await connection.close()
