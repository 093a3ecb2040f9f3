"""The API process: all that is served over HTTP."""

import asyncio
import socket
from collections.abc import Sequence
from typing import Final

from litestar.handlers import HTTPRouteHandler

from leadwire.app import create_app
from leadwire.delivery import long_polls
from leadwire.domain.accounts.sign_in import tries
from leadwire.domain.bots.changes import counts
from leadwire.domain.conversations import pubsub
from leadwire.infrastructure.db import declared
from leadwire.infrastructure.db.migrations import missing
from leadwire.infrastructure.serving import serve_until
from leadwire.infrastructure.settings import Settings
from leadwire.infrastructure.telemetry.health import Health
from leadwire.interfaces.http.middleware import count_denied
from leadwire.processes import runtime

_LEAVING: Final = 5  # seconds after SIGTERM behind a proxy: until its checks have seen that this process is not ready
_DRAIN: Final = 10  # seconds for requests under way when the API stops


async def serve(settings: Settings, listening: socket.socket, more: Sequence[HTTPRouteHandler] = ()) -> None:
    declared.every()  # now: it reads files
    health = Health(needs_redis=False, checks={"migrations": missing})
    app = create_app(health, more)

    async def run(stop: asyncio.Event) -> None:
        over = asyncio.Event()
        seconds = _LEAVING if settings.trusted_proxies else 0
        beside = [asyncio.create_task(work) for work in (pubsub.hub.listen(), _leave(stop, seconds, over))]
        await serve_until(over, app, listening, limits=settings, grace=_DRAIN, leaving=stop.is_set, denied=count_denied)
        for task in beside:
            task.cancel()
        await tries.write()
        await counts.write()

    await runtime.run(settings, "serve", health, run, indexes_only=False)


async def _leave(stop: asyncio.Event, seconds: float, over: asyncio.Event) -> None:
    """Set `over` these seconds after `stop`."""
    await stop.wait()
    await asyncio.sleep(seconds)
    pubsub.hub.leave()
    long_polls.wake_all()  # before the server waits for its connections: an open stream would keep it
    over.set()
