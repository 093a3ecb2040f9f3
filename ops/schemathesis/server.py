"""The API on a port of its own, in this process and on its connections."""

import asyncio
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager

import httpx

from leadwire.app import create_app
from leadwire.domain.accounts import changes as accounts
from leadwire.infrastructure import settings
from leadwire.infrastructure.db.migrations import migrate
from leadwire.infrastructure.process import bind
from leadwire.infrastructure.serving import connections, serve_until
from leadwire_development.demo.seed import seed
from leadwire_development.embedded import services


@asynccontextmanager
async def serving() -> AsyncIterator[str]:
    """Its address, for as long as the block runs."""
    listening, stop = bind("127.0.0.1", 0), asyncio.Event()
    server = asyncio.create_task(serve_until(stop, create_app(), listening))
    url = f"http://127.0.0.1:{listening.getsockname()[1]}"
    try:
        async with httpx.AsyncClient(timeout=None) as client:  # Schemathesis waits 10 s, and the first one is made now
            (await client.get(f"{url}/schema")).raise_for_status()
        yield url
    finally:
        stop.set()
        await server


@asynccontextmanager
async def filled() -> AsyncIterator[tuple[str, str]]:
    """The API on servers of its own, filled with the demo's data: its address and a key with all scopes."""
    with services(settings.get(), durable=False) as running:
        async with connections(running.database_url, running.redis_url, 10):
            await migrate()
            workspace = await seed()
            _, key = await accounts.create_key(workspace, "ops")
            async with serving() as url:
                yield url, key
