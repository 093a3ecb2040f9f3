"""The API process: all that is served over HTTP, and hourly work beside it."""

import asyncio
import logging
import socket
from collections.abc import Awaitable, Callable
from typing import Final

from leadwire.app import create_app
from leadwire.delivery.feed import wakes
from leadwire.domain.accounts.sign_in import tries
from leadwire.domain.accounts.sign_in.changes import password_reset, sessions
from leadwire.domain.accounts.sso.changes import sign_in as sso_sign_in
from leadwire.domain.bots.changes import counts
from leadwire.domain.bulk_changes import changes as bulk_changes
from leadwire.domain.conversations import pubsub
from leadwire.domain.exports import changes as exports
from leadwire.domain.mail.changes import attempts
from leadwire.infrastructure import idempotency_store, standby_reads, telemetry
from leadwire.infrastructure.db.migrations import missing
from leadwire.infrastructure.serving import serve_until
from leadwire.infrastructure.settings import Settings
from leadwire.infrastructure.telemetry.health import Health
from leadwire.processes import runtime

_DRAIN: Final = 10  # seconds for requests under way when the API stops


async def serve(settings: Settings, listening: socket.socket) -> None:
    """The HTTP API on a bound socket."""
    health = Health(needs_redis=False, checks={"migrations": missing})
    app = create_app(health)

    async def run(stop: asyncio.Event) -> None:
        chores: tuple[Callable[[], Awaitable[object]], ...] = (
            idempotency_store.expire, sessions.delete_ended, password_reset.delete_expired, attempts.delete_old,
            sso_sign_in.forget_used, counts.delete_old, exports.delete_old, bulk_changes.delete_old,
        )  # fmt: skip
        beside = [asyncio.create_task(work) for work in (*map(_hourly, chores), pubsub.hub.listen(), _leave(stop))]
        async with standby_reads.following(settings):
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


async def _hourly(chore: Callable[[], Awaitable[object]]) -> None:
    while True:
        try:
            await chore()
        except Exception as error:  # noqa: BLE001 - the next hour tries again
            telemetry.log("chore.failed", level=logging.WARNING, error=error, chore=chore.__qualname__)
        await asyncio.sleep(3600)
