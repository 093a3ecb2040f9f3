"""A second customer, and one who wants order; a Redis that is not the one of all tests."""

import asyncio
import gc
from collections.abc import AsyncIterator, Awaitable, Callable
from typing import Any

import msgspec
import pytest

from leadwire.delivery.relay.loop import Relay
from leadwire.delivery.worker import loop, reader, recorder
from leadwire.delivery.worker.claim import claim
from leadwire.delivery.worker.heartbeat import Heartbeat
from leadwire.delivery.worker.loop import Deliverer
from leadwire.domain.accounts import changes as accounts
from leadwire.infrastructure import db, redis_pool
from tests import make
from tests.delivery.in_order import InOrder
from tests.delivery.wired import endpoint
from tests.receiver import Receiver
from tests.waiting import eventually


@pytest.fixture
async def other_workspace(database: None) -> str:
    return await accounts.create_workspace("Other")


@pytest.fixture
async def in_order(workspace: str, bot: str, receiver: Receiver) -> InOrder:
    """It wants to know of changed leads."""
    return await InOrder.of(workspace, bot, receiver, "lead.updated")


@pytest.fixture
async def use(monkeypatch: pytest.MonkeyPatch) -> AsyncIterator[Callable[[Any], "redis_pool.redis.Redis"]]:
    """Make a client of a group that of this process."""
    made: list[redis_pool.redis.Redis] = []

    def used(group: Any) -> "redis_pool.redis.Redis":
        made.append(redis_pool.create_client(group.url))
        monkeypatch.setattr(redis_pool, "_client", made[0])
        return made[0]

    yield used
    await redis_pool.close()  # the first; it waits for what is under way, but not for ever
    for client in made[1:]:
        await client.aclose()
    gc.collect()  # here, not in another test


@pytest.fixture
def hasty(wire, monkeypatch):
    """A worker that takes over at once, also from itself; what it has claimed stays its own."""
    monkeypatch.setattr(reader, "_BLOCK_MS", 1)
    monkeypatch.setattr(recorder, "_PAUSES", ())
    monkeypatch.setattr(Heartbeat, "covers", lambda *_: True)
    monkeypatch.setattr(loop, "claim", lambda entries, owner, _lease, gone: claim(entries, owner, 60, gone))
    return Deliverer(wire.redis, wire.transport, msgspec.structs.replace(wire.settings, lease=0.001))


@pytest.fixture
def lead_after_lead(workspace: str, bot: str, wire: Any, receiver: Any) -> Callable[..., Awaitable[None]]:
    """Capture leads before, while and after `fault` is done: each is delivered."""

    async def work(client: "redis_pool.redis.Redis", fault: Callable[[], None]) -> None:
        await endpoint(workspace, receiver.url)
        stop, over = asyncio.Event(), asyncio.Event()
        settings = msgspec.structs.replace(wire.settings, reconcile_after=2, lease=6, delivery_timeout=5)
        working = [
            asyncio.create_task(Relay(client, settings).run(stop)),
            asyncio.create_task(Deliverer(client, wire.transport, settings).run(stop)),
        ]
        made = 0

        def keeps_up() -> bool:
            """Whether few are under way."""
            return over.is_set() or len(receiver.deliveries) > made - 10

        async def capture(count: int) -> None:
            nonlocal made
            while count > 0 or not over.is_set():
                await make.lead(workspace, bot, email=f"{made}@example.com")
                made, count = made + 1, count - 1
                await eventually(keeps_up, 600)  # the fault has a limit of its own

        async def delivered() -> bool:
            return bool(await db.value("SELECT count(*) FROM every_delivery WHERE state = 'delivered'") == made + 1)

        try:
            await make.lead(workspace, bot)
            await receiver.received(1)
            capturing = asyncio.create_task(capture(20))
            try:
                await asyncio.to_thread(fault)
            finally:
                over.set()
                await capturing
            await eventually(delivered)
            assert len({one.webhook_id for one in receiver.deliveries}) == made + 1
        finally:  # whatever has failed: what goes on would keep the test from ending
            stop.set()
            await asyncio.gather(*working)

    return work
