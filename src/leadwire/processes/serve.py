"""The API process: all that is served over HTTP."""

import asyncio
import socket
from collections.abc import Sequence
from typing import Final

from litestar.handlers import HTTPRouteHandler

from leadwire.app import create_app
from leadwire.delivery import wakes
from leadwire.domain.accounts.sign_in import tries
from leadwire.domain.bots.changes import counts
from leadwire.domain.conversations import pubsub
from leadwire.infrastructure.db import declared
from leadwire.infrastructure.db.migrations import missing
from leadwire.infrastructure.serving import serve_until
from leadwire.infrastructure.settings import Settings
from leadwire.infrastructure.telemetry.health import Health
from leadwire.processes import runtime

_DRAIN: Final = 10  # seconds for requests under way when the API stops


async def serve(settings: Settings, listening: socket.socket, more: Sequence[HTTPRouteHandler] = ()) -> None:
    declared.every()  # now: it reads files
    health = Health(needs_redis=False, checks={"migrations": missing})
    app = create_app(health, more)

    async def run(stop: asyncio.Event) -> None:
        beside = [asyncio.create_task(work) for work in (pubsub.hub.listen(), _leave(stop))]
        await serve_until(stop, app, listening, limits=settings, grace=_DRAIN)
        for task in beside:
            task.cancel()
        await tries.write()
        await counts.write()

    await runtime.run(settings, "serve", health, run, indexes_only=False)


async def _leave(stop: asyncio.Event) -> None:
    await stop.wait()
    pubsub.hub.leave()
    wakes.wake_all()  # before the server waits for its connections: an open stream would keep it
