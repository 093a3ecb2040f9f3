"""The API on a port of its own, in this process and on its connections."""

import asyncio
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager

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
    try:
        yield f"http://127.0.0.1:{listening.getsockname()[1]}"
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
