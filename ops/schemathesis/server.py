"""The API on a port of its own, in this process and on its connections."""

import asyncio
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager

import uvicorn

from leadwire.app import create_app
from leadwire.serving import bind, serve_until


@asynccontextmanager
async def serving() -> AsyncIterator[str]:
    """Its address, for as long as the block runs."""
    listening, stop = bind("127.0.0.1", 0), asyncio.Event()
    config = uvicorn.Config(create_app(), lifespan="off", log_config=None, access_log=False)
    server = asyncio.create_task(serve_until(stop, config, listening))
    try:
        yield f"http://127.0.0.1:{listening.getsockname()[1]}"
    finally:
        stop.set()
        await server
