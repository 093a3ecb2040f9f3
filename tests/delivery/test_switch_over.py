"""Redis is switched over to another server while connections to the old primary stay open, as a managed one does it."""

import asyncio
import contextlib
import shutil
import tempfile
from collections.abc import AsyncIterator, Iterator
from pathlib import Path
from types import SimpleNamespace

import pytest

from leadwire.delivery import streams
from leadwire.delivery.relay.loop import Relay
from leadwire.delivery.worker.loop import Deliverer
from leadwire.infrastructure import db, loop, redis_pool
from leadwire.infrastructure.redis_pool import NotPrimary
from leadwire.infrastructure.settings import Settings
from leadwire.infrastructure.telemetry.health import Health
from leadwire_development.embedded import Services, services
from tests import catalog, make
from tests.delivery.wired import endpoint
from tests.development.embedded.running import NO_POSTGRES, redis
from tests.waiting import eventually


@pytest.fixture(scope="module")
def pair() -> Iterator[list[Services]]:
    """Two servers."""
    with contextlib.ExitStack() as stack:
        directory = Path(tempfile.mkdtemp(prefix="lw-"))
        stack.callback(shutil.rmtree, directory, ignore_errors=True)
        directory.chmod(0o711)
        chosen = [Settings(data_dir=directory / name, database_url=NO_POSTGRES) for name in "ab"]
        yield [stack.enter_context(services(one, durable=False)) for one in chosen]


class Switch:
    """One address in front of both: new connections go to `target`, open ones stay where they are."""

    def __init__(self, pair: list[Services]) -> None:
        self.pair = pair
        self.target = pair[0]
        self.open: list[Services] = []
        self._piping: set[asyncio.Task[None]] = set()

    async def __call__(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        target = self.target
        there = target.redis_url.removeprefix("unix://").partition("?")[0]
        back, onward = await asyncio.open_unix_connection(there)
        self.open.append(target)
        with contextlib.suppress(OSError):
            await asyncio.gather(_pipe(reader, onward), _pipe(back, writer))
        self.open.remove(target)

    def over(self) -> None:
        """The old primary becomes a replica, of one that does not answer, and the address is the other server's."""
        old, self.target = self.pair
        redis(old, "REPLICAOF", "127.0.0.1", "1")


async def _pipe(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
    try:
        while data := await reader.read(65536):
            writer.write(data)
    finally:
        writer.close()


@pytest.fixture
async def switch(pair: list[Services]) -> Switch:
    for one in pair:
        redis(one, "REPLICAOF", "NO", "ONE")
        redis(one, "FLUSHALL")
    return Switch(pair)


@pytest.fixture
async def switched(switch: Switch) -> AsyncIterator["redis_pool.redis.Redis"]:
    """A client of the address in front."""
    server = await asyncio.start_server(switch, "127.0.0.1", 0)
    client = redis_pool.create_client(f"redis://127.0.0.1:{server.sockets[0].getsockname()[1]}/0")
    yield client
    await client.aclose()
    server.close()


async def test_delivery_goes_on_after_a_switch_over(workspace, bot, wire, receiver, switch, switched, monkeypatch):
    monkeypatch.setattr(redis_pool, "_client", switched)  # what changes queue goes the same way
    await endpoint(workspace, receiver.url)
    stop = asyncio.Event()
    working = [
        asyncio.create_task(Relay(switched, wire.settings).run(stop)),
        asyncio.create_task(Deliverer(switched, wire.transport, wire.settings).run(stop)),
    ]
    await make.lead(workspace, bot)
    await receiver.received(1)
    await eventually(lambda: db.value("SELECT count(*) = 1 FROM every_delivery WHERE state = 'delivered'"))

    switch.over()
    await make.lead(workspace, bot, email="after@example.com")
    await receiver.received(2)
    await eventually(lambda: switch.open and switch.pair[0] not in switch.open)  # the relay's subscription, too
    stop.set()
    await asyncio.gather(*working)


async def test_a_replica_is_not_ready_and_a_refused_write_drops_every_connection(
    database, switch, switched, monkeypatch
):
    monkeypatch.setattr(redis_pool, "_client", switched)
    health = Health(needs_redis=True)
    assert (await health.report()).ready
    async with switched.pubsub() as subscription:
        await subscription.subscribe("channel")
        redis(switch.pair[0], "REPLICAOF", "127.0.0.1", "1")
        report = await health.report()
        assert (report.status, report.checks["redis"]) == ("unready", "NotPrimary")
        await eventually(lambda: not switch.open)
        with pytest.raises(NotPrimary):
            await switched.set("key", "value")
        switch.over()
        assert (await health.report()).ready
        assert switch.open
        assert switch.pair[0] not in switch.open


async def test_a_relay_that_only_finds_a_replica_reads_nothing_from_it_and_ends_no_round(
    wire, switch, switched, monkeypatch
):
    """An old replica's empty streams would look as if everything queued were lost."""

    def failed():
        return catalog.value("leadwire_loop_failures_total", loop="reconcile")

    relay, before, stop = Relay(switched, wire.settings), failed(), asyncio.Event()
    redis(switch.pair[0], "REPLICAOF", "127.0.0.1", "1")
    with pytest.raises(NotPrimary):
        await streams.states(switched, wire.settings.stream_shards)
    running = asyncio.create_task(relay.run(stop))
    await eventually(lambda: failed() >= before + 3)
    stop.set()
    await running
    reconcile = relay._loops["reconcile"]
    began = reconcile._since
    assert began is not None
    with monkeypatch.context() as patched:
        patched.setattr(loop, "time", SimpleNamespace(monotonic=lambda: began + 136))
        assert reconcile.stuck() == "reconcile has not ended a round for 136 s", "connecting again does not help"
