"""The app on a socket, in this process: for what needs a connection, such as streams and browsers."""

import asyncio
import contextlib

import uvicorn

from leadwire.app import create_app
from leadwire.conversations import live
from leadwire.serving import HttpProtocol, bind, serve_until


@contextlib.asynccontextmanager
async def served():
    """Its address, inside the block."""
    listening = bind("127.0.0.1", 0)
    port = listening.getsockname()[1]
    config = uvicorn.Config(
        create_app(), http=HttpProtocol, log_config=None, lifespan="off", timeout_graceful_shutdown=5
    )
    stop = asyncio.Event()
    live.hub.leaving = False
    tasks = [asyncio.create_task(serve_until(stop, config, listening)), asyncio.create_task(live.hub.listen())]
    try:
        yield f"http://127.0.0.1:{port}"
    finally:
        live.hub.leave()
        stop.set()
        await tasks[0]
        tasks[1].cancel()
        with contextlib.suppress(asyncio.CancelledError):
            await tasks[1]
        live.hub.leaving = False
