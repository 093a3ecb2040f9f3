"""Apps on a socket, in this process: for what needs a connection, such as streams and browsers."""

import asyncio
import contextlib

from leadwire.app import create_app
from leadwire.domain.conversations import pubsub
from leadwire.infrastructure.process import bind
from leadwire.infrastructure.serving import serve_until
from leadwire.infrastructure.settings import Settings
from leadwire.interfaces.http.middleware import count_denied
from leadwire_development import pages
from tests import asgi


@contextlib.asynccontextmanager
async def served(port=0, more=pages.MAILBOX):
    """The app's address, inside the block."""
    pubsub.hub.leaving = False
    hub = asyncio.create_task(pubsub.hub.listen())
    app = asgi.app() if more is pages.MAILBOX else create_app(more=more)
    try:
        async with on_socket(app, port, leave=pubsub.hub.leave) as address:
            yield address
    finally:
        hub.cancel()
        with contextlib.suppress(asyncio.CancelledError):
            await hub
        pubsub.hub.leaving = False


@contextlib.asynccontextmanager
async def on_socket(app, port=0, leave=lambda: None, limits=None, leaving=lambda: False):
    """The address of any ASGI app, inside the block; `leave` is called before it stops."""
    listening = bind("127.0.0.1", port)
    port = listening.getsockname()[1]
    stop = asyncio.Event()
    serving = asyncio.create_task(
        serve_until(stop, app, listening, limits=limits or Settings(), grace=5, leaving=leaving, denied=count_denied)
    )
    try:
        yield f"http://127.0.0.1:{port}"
    finally:
        leave()
        stop.set()
        await serving
