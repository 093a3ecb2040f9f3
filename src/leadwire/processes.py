"""What runs in each process, and how it stops: SIGTERM or SIGINT, then what is in hand is finished, then exit 0."""

import asyncio
import logging
import socket
from collections.abc import Awaitable, Callable
from typing import Final

import uvicorn

from leadwire import db, redis_pool, systemd, telemetry
from leadwire.accounts import sessions
from leadwire.app import create_app
from leadwire.bots import silence
from leadwire.conversations import live
from leadwire.serving import HttpProtocol, connections, serve_until, stop_event
from leadwire.settings import Settings
from leadwire.web import idempotency
from leadwire.wire import keyring
from leadwire.wire.deliver import tally
from leadwire.wire.deliver.loop import Deliverer
from leadwire.wire.relay.loop import Relay
from leadwire.wire.transport.guarded import GuardedTransport

_DRAIN: Final = 10  # seconds for requests under way when the API stops


async def serve(settings: Settings, listening: socket.socket) -> None:
    """The HTTP API on a bound socket."""
    config = uvicorn.Config(
        create_app(),
        http=HttpProtocol,
        log_config=None,
        access_log=False,
        lifespan="off",
        proxy_headers=False,  # nobody is believed about the caller's address
        server_header=False,
        timeout_graceful_shutdown=_DRAIN,
    )

    async def run(stop: asyncio.Event) -> None:
        chores = _hourly(idempotency.expire), _hourly(sessions.forget_ended)
        beside = [asyncio.create_task(work) for work in (*chores, live.hub.listen(), _leave(stop))]
        await serve_until(stop, config, listening)
        for task in beside:
            task.cancel()

    await _run(settings, "serve", run, one_plan=True)


async def _leave(stop: asyncio.Event) -> None:
    await stop.wait()
    live.hub.leave()  # before the server waits for its connections: an open stream would keep it


async def relay(settings: Settings) -> None:
    """Hop 1, and the end of silent conversations."""

    async def run(stop: asyncio.Event) -> None:
        redis = redis_pool.client()
        assert redis is not None  # noqa: S101 - opened by _run
        sweeping = asyncio.create_task(silence.watch(stop))
        await Relay(redis, settings).run(stop)
        await sweeping

    await _run(settings, "relay", run)


async def deliver(settings: Settings) -> None:
    """Hop 3."""

    async def run(stop: asyncio.Event) -> None:
        redis = redis_pool.client()
        assert redis is not None  # noqa: S101 - opened by _run
        transport = GuardedTransport(settings.allowed_networks, timeout=settings.delivery_timeout)
        try:
            await Deliverer(redis, transport, settings).run(stop)
        finally:
            await tally.flush()
            await transport.aclose()

    await _run(settings, "deliver", run, check=keyring.check)  # a wrong key is told now, not at the first delivery


async def _hourly(chore: Callable[[], Awaitable[None]]) -> None:
    while True:
        try:
            await chore()
        except Exception as error:  # noqa: BLE001 - the next hour tries again
            telemetry.log("chore.failed", level=logging.WARNING, error=error, chore=chore.__qualname__)
        await asyncio.sleep(3600)


async def _run(
    settings: Settings,
    name: str,
    work: Callable[[asyncio.Event], Awaitable[None]],
    *,
    check: Callable[[], Awaitable[None]] | None = None,
    one_plan: bool = False,
) -> None:
    stop = stop_event()
    async with connections(settings.database_url, settings.redis_url, settings.pool_size, one_plan=one_plan):
        await db.value("SELECT EXISTS (SELECT 1 FROM outbox_event)")  # no tables: told at the start
        if check:
            await check()
        telemetry.log("process.started", name=name)
        async with systemd.told():
            await work(stop)
        telemetry.log("process.stopped", name=name)
