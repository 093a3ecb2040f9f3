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
from leadwire.migrate import missing
from leadwire.serving import HttpProtocol, bind, connections, serve_until, stop_event
from leadwire.settings import Settings
from leadwire.telemetry import port, process, tracing
from leadwire.telemetry.health import Health
from leadwire.web import idempotency
from leadwire.wire import keyring
from leadwire.wire.deliver import tally
from leadwire.wire.deliver.loop import Deliverer
from leadwire.wire.observer import Observer
from leadwire.wire.relay.loop import Relay
from leadwire.wire.transport.guarded import GuardedTransport

_DRAIN: Final = 10  # seconds for requests under way when the API stops


async def serve(settings: Settings, listening: socket.socket) -> None:
    """The HTTP API on a bound socket."""
    health = Health(needs_redis=False, checks={"migrations": missing})
    config = uvicorn.Config(
        create_app(health),
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

    await _run(settings, "serve", health, run, one_plan=True)


async def _leave(stop: asyncio.Event) -> None:
    await stop.wait()
    live.hub.leave()  # before the server waits for its connections: an open stream would keep it


async def relay(settings: Settings) -> None:
    """Hop 1, the end of silent conversations, and an eye on the servers."""
    health = Health(needs_redis=True, checks={"migrations": missing})

    async def run(stop: asyncio.Event) -> None:
        redis = redis_pool.client()
        assert redis is not None  # noqa: S101 - opened by _run
        relaying = Relay(redis, settings)
        health.stuck = relaying.stuck
        async with asyncio.TaskGroup() as group:
            for work in (relaying.run(stop), silence.watch(stop), Observer(redis, settings).run(stop)):
                group.create_task(work)

    await _run(settings, "relay", health, run)


async def deliver(settings: Settings) -> None:
    """Hop 3."""
    health = Health(needs_redis=True, checks={"migrations": missing})

    async def run(stop: asyncio.Event) -> None:
        redis = redis_pool.client()
        assert redis is not None  # noqa: S101 - opened by _run
        transport = GuardedTransport(settings.allowed_networks, timeout=settings.delivery_timeout)
        try:
            worker = Deliverer(redis, transport, settings)
            health.stuck = worker.stuck
            await worker.run(stop)
        finally:
            await tally.flush()
            await transport.aclose()

    await _run(settings, "deliver", health, run, check=keyring.check)  # a wrong key is told now, not at a delivery


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
    health: Health,
    work: Callable[[asyncio.Event], Awaitable[None]],
    *,
    check: Callable[[], Awaitable[None]] | None = None,
    one_plan: bool = False,
) -> None:
    stop, over = stop_event(), asyncio.Event()
    health.stopping = stop.is_set
    process.begin(name)
    tracing.start(settings.trace_share, name)
    listening = bind(settings.telemetry_host, settings.telemetry_port)
    host, number, *_ = listening.getsockname()
    async with connections(settings.database_url, settings.redis_url, settings.pool_size, one_plan=one_plan):
        await db.value("SELECT EXISTS (SELECT 1 FROM outbox_event)")  # no tables: told at the start
        if check:
            await check()
        watched = asyncio.create_task(port.serve(health, listening, over))
        telemetry.log("process.started", name=name, telemetry=f"http://{host}:{number}")
        async with systemd.told(lambda: health.stuck() is None):
            await work(stop)
        over.set()
        await watched
        await asyncio.to_thread(tracing.stop)
        telemetry.log("process.stopped", name=name)
