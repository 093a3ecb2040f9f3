"""Every process says on `/health/live` that one of its loops hangs, whichever it is."""

import asyncio
import contextlib

import httpx
import msgspec
import pytest

from leadwire.delivery.monitoring.observer import Observer
from leadwire.delivery.streams import push
from leadwire.delivery.worker.heartbeat import Heartbeat
from leadwire.domain.conversations import pubsub
from leadwire.infrastructure import loop, redis_pool, settings
from leadwire.infrastructure.jobs.runner import Runner
from leadwire.infrastructure.process import bind
from leadwire.processes import runtime
from leadwire.processes.background import background
from leadwire.processes.deliver import deliver
from leadwire.processes.relay import relay
from leadwire.processes.serve import serve
from tests.delivery.test_liveness import Clock
from tests.waiting import eventually


async def _equal(asked, expected):
    return await asked == expected


async def _serve(chosen):
    await serve(chosen, bind("127.0.0.1", 0))


@pytest.mark.parametrize(
    ("process", "owner", "hanging", "name"),
    [
        (relay, Observer, "update", "observe"),
        (relay, redis_pool, "subscription", f"listen to {push.WAKE}"),
        (deliver, Heartbeat, "beat", "heartbeat"),
        (background, Runner, "round", "jobs"),
        (_serve, redis_pool, "subscription", "listen to leadwire:talk:"),
    ],
)
async def test_a_loop_that_hangs_is_told(database, redis, monkeypatch, process, owner, hanging, name):
    clock, stop, reached, released = Clock(), asyncio.Event(), asyncio.Event(), asyncio.Event()
    original = getattr(owner, hanging)

    async def wait():
        reached.set()
        await released.wait()

    async def called(*given):
        await wait()
        return await original(*given)

    @contextlib.asynccontextmanager
    async def entered(*given):
        await wait()
        async with original(*given) as inside:
            yield inside

    monkeypatch.setattr(owner, hanging, entered if owner is redis_pool else called)
    monkeypatch.setattr(loop, "time", clock)
    monkeypatch.setattr(pubsub.hub, "leaving", False)  # and so again after `serve` has left
    monkeypatch.setattr(runtime, "stop_event", lambda: stop)
    monkeypatch.setattr(runtime, "connections", lambda *_, **__: contextlib.nullcontext())  # the test has them open
    with bind("127.0.0.1", 0) as probe:
        port = probe.getsockname()[1]
    chosen = msgspec.structs.replace(settings.get(), telemetry_host="127.0.0.1", telemetry_port=port)
    running = asyncio.create_task(process(chosen))
    try:
        await asyncio.wait([running, asyncio.create_task(reached.wait())], return_when=asyncio.FIRST_COMPLETED)
        assert not running.done(), running.exception()
        async with httpx.AsyncClient(base_url=f"http://127.0.0.1:{port}", trust_env=False, timeout=240) as client:

            async def live():
                response = await client.get("/health/live")
                return response.status_code, response.json()["status"]

            assert await live() == (200, "ok")
            clock.now += 200
            expected = (503, f"{name} has not ended a round for 200 s")
            await eventually(lambda: _equal(live(), expected))  # of the other loops, rounds that were under way end
    finally:
        released.set()
        stop.set()
        await running
