"""Where the matrix is tried: on servers of its own, or on those that the settings name."""

import asyncio
from collections.abc import AsyncIterator, Sequence
from contextlib import asynccontextmanager

from leadwire.app import create_app
from leadwire.domain.workspaces import changes as workspaces
from leadwire.infrastructure import settings
from leadwire.infrastructure.db.migrations import migrate
from leadwire.infrastructure.process import bind
from leadwire.infrastructure.serving import connections, serve_until
from leadwire_development.embedded import services
from ops.tenants.matrix import KINDS, Matrix
from ops.tenants.routes import Route
from ops.tenants.world import World, callers


@asynccontextmanager
async def instance(url: str) -> AsyncIterator[str]:
    """The address of one of our own, or of the one at `url`; connected to its servers."""
    if url:
        chosen = settings.get()
        async with connections(chosen.database_url, chosen.redis_url, 5):
            yield url
        return
    with services(settings.get(), durable=False) as running:
        async with connections(running.database_url, running.redis_url, 10):
            await migrate()
            listening, stop = bind("127.0.0.1", 0), asyncio.Event()
            server = asyncio.create_task(serve_until(stop, create_app(), listening))
            try:
                yield f"http://127.0.0.1:{listening.getsockname()[1]}"
            finally:
                stop.set()
                await server


async def tried(url: str, of: Sequence[Route], kinds: Sequence[str] = tuple(KINDS)) -> Matrix:
    """The matrix of these routes, tried at `url` in these ways."""
    async with World(callers(url)) as world:
        matrix = Matrix(world, of)
        await matrix.run(kinds)
    for workspace in (world.ours.workspace, world.theirs.workspace):
        await workspaces.delete(workspace)
    return matrix
