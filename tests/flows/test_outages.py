"""PostgreSQL and Redis go away and come back: every process stays, says what is wrong, and goes on by itself."""

import asyncio
import contextlib
import json
import os
import signal
from datetime import datetime
from itertools import pairwise
from pathlib import Path

import asyncpg
import httpx
import pytest

from leadwire.development.embedded import Server, Services, services
from leadwire.infrastructure.settings import Settings
from tests.flows.commands import data_directory, free_port, run
from tests.flows.telemetry import address, scraped
from tests.waiting import eventually

pytestmark = pytest.mark.flow

LONGEST_PAUSE = 6.0  # seconds, of the retry backoff with its jitter
LOOPS = ("fan_out", "admit", "redrive", "discard")  # of the relay: each pauses for itself
SLACK = 4.0  # for a machine that is busy with other tests


@pytest.fixture(scope="module")
def servers():
    """Of this module's own, to be stopped."""
    with data_directory() as directory, services(Settings(data_dir=directory), durable=True) as running:
        yield running


class Outage:
    """Everything of Leadwire at work, and its servers to be taken away."""

    def __init__(self, deployment, running: Services, http: httpx.AsyncClient) -> None:
        self.deployment = deployment
        self.running = running
        self.http = http

    async def begin(self) -> None:
        self.port = free_port()
        self.serve = await self.deployment.start("serve", "--port", str(self.port))
        self.relay = await self.deployment.start("relay")
        self.worker = await self.deployment.start("deliver")
        self.all = (self.serve, self.relay, self.worker)

    @contextlib.asynccontextmanager
    async def without(self, name: str):
        """A server is stopped for the length of the block, and started again."""
        stopped = self.running.servers[name]
        stopped.ask_to_stop()
        await asyncio.to_thread(stopped.join, 20)
        assert not stopped.is_alive()
        try:
            yield
        finally:
            back = self.running.servers[name] = Server(stopped._plan)
            await asyncio.to_thread(back.wait_ready)
            if name == "PostgreSQL":
                self.deployment.sql.terminate()
                self.deployment.sql = await asyncpg.connect(self.deployment.settings["DATABASE_URL"])

    async def get(self, process, path: str) -> tuple[int, dict]:
        answer = await self.http.get(f"{address(process)}{path}")
        return answer.status_code, answer.json()

    async def leads(self, key: str) -> httpx.Response:
        headers = {"Authorization": f"Bearer {key}"}
        return await self.http.get(f"http://127.0.0.1:{self.port}/v1/leads", headers=headers)

    async def ready(self, process) -> bool:
        return (await self.get(process, "/health/ready"))[0] == 200

    async def metric(self, process, *name) -> float | None:
        return (await scraped(self.http.get, process)).get(name)

    async def metric_is(self, process, value: float | None, *name) -> bool:
        return await self.metric(process, *name) == value

    async def all_there(self, pids) -> None:
        """Ready again within the longest pause, and the same processes as before."""
        for process in self.all:
            await eventually(lambda process=process: self.ready(process), LONGEST_PAUSE + SLACK)
            assert process.running(), process.err
        assert [process.process.pid for process in self.all] == pids


@pytest.fixture
async def outage(deployment, servers):
    deployment.settings = deployment.settings | {
        "DELIVERY_TIMEOUT": "15",
        "LEASE": "20",
    }  # a receiver that hangs outlasts a server's stop
    async with httpx.AsyncClient(trust_env=False, timeout=20) as http:
        made = Outage(deployment, servers, http)
        await made.begin()
        yield made


def pids(outage):
    return [process.process.pid for process in outage.all]


def failures(process, *events, loop=None):
    """When each of these was logged, in seconds; of one of the relay's loops, or of all."""
    lines = [json.loads(line) for line in process.err.splitlines()]
    of_loop = [line for line in lines if loop in (None, line.get("loop"))]
    return [datetime.fromisoformat(line["at"]).timestamp() for line in of_loop if line["event"] in events]


def assert_bounded(times):
    """Tried again with growing pauses: not in a hurry, and never given up."""
    assert len(times) >= 3
    gaps = [later - earlier for earlier, later in pairwise(times)]
    assert max(gaps) < LONGEST_PAUSE + SLACK
    assert sum(gap < 0.05 for gap in gaps) <= 2, gaps


async def test_postgresql_goes_away_and_comes_back(outage):
    before = pids(outage)
    key = json.loads(
        (
            await asyncio.to_thread(run, "keys", "create", "--name", "test", "--json", **outage.deployment.settings)
        ).stdout
    )["key"]
    assert (await outage.leads(key)).status_code == 200
    await outage.deployment.write(20)
    await outage.deployment.all_delivered(20)
    outage.deployment.receiver.hang()
    await outage.deployment.write(5)
    await outage.deployment.receiver.received(25)  # their outcomes come while nobody can write them down

    async with outage.without("PostgreSQL"):
        outage.deployment.receiver.release()
        for process in outage.all:
            status, said = await outage.get(process, "/health/ready")
            assert (status, said["status"]) == (503, "unready")
            assert said["checks"]["database"] != "ok"
            assert said["checks"]["redis"] == "ok"
            assert (await outage.get(process, "/health/live"))[0] == 200
        answer = await outage.leads(key)
        assert (answer.status_code, answer.headers["retry-after"]) == (503, "5")
        await eventually(lambda: outage.metric_is(outage.relay, 0, "leadwire_database_up"))
        for loop in LOOPS:
            await eventually(lambda loop=loop: len(failures(outage.relay, "relay.failed", loop=loop)) >= 5)
        await eventually(lambda: len(failures(outage.worker, "database.unreachable")) >= 5)

    await outage.all_there(before)
    await outage.deployment.write(20)
    await outage.deployment.all_delivered(45)
    assert len(outage.deployment.receiver.deliveries) == 45  # what was answered meanwhile was not sent again
    for loop in LOOPS:
        assert_bounded(failures(outage.relay, "relay.failed", loop=loop))
    assert_bounded(failures(outage.worker, "database.unreachable"))
    await eventually(lambda: outage.metric_is(outage.relay, 1, "leadwire_database_up"))
    assert (await outage.leads(key)).status_code == 200


async def test_redis_goes_away_and_comes_back_empty_or_not(outage):
    before = pids(outage)
    await outage.deployment.write(20)
    await outage.deployment.all_delivered(20)

    async with outage.without("Valkey"):
        for process in (outage.relay, outage.worker):
            status, said = await outage.get(process, "/health/ready")
            assert (status, said["status"], said["checks"]["database"]) == (503, "unready", "ok")
            assert said["checks"]["redis"] != "ok"
            assert (await outage.get(process, "/health/live"))[0] == 200
        assert await outage.get(outage.serve, "/health/ready") == (
            200,
            {"status": "degraded", "checks": {"database": "ok", "migrations": "ok", "redis": "ConnectionError"}},
        )
        await outage.deployment.write(20)  # committed all the same
        await eventually(lambda: outage.metric_is(outage.relay, 0, "leadwire_redis_up"))
        assert await outage.metric(outage.relay, "leadwire_stream_length", ("shard", "0")) is None
        await eventually(lambda: len(failures(outage.worker, "deliver.failed")) >= 5)
        await eventually(lambda: len(failures(outage.relay, "relay.failed", "stream.unreachable")) >= 5)

    await outage.all_there(before)
    await outage.deployment.write(20)
    await outage.deployment.all_delivered(60, 60)
    assert_bounded(failures(outage.worker, "deliver.failed"))
    assert_bounded(failures(outage.relay, "relay.failed", "stream.unreachable"))


async def test_a_postgresql_that_does_not_answer_is_told_and_harms_nothing(outage):
    """It is there and hangs, as on a disk that does not answer: connections stay open and nothing comes."""
    before = pids(outage)
    await outage.deployment.write(5)
    await outage.deployment.all_delivered(5)
    stopped = family(outage.running.servers["PostgreSQL"].pid())
    for pid in stopped:
        os.kill(pid, signal.SIGSTOP)
    try:
        for process in outage.all:
            for _ in range(2):  # also when the first has left a connection behind
                status, said = await outage.get(process, "/health/ready")
                assert (status, said["checks"]["database"]) == (503, "no answer within 1 s")
                assert (await outage.get(process, "/health/live"))[0] == 200
        await eventually(lambda: outage.metric_is(outage.relay, None, "leadwire_unrelayed_events"))
    finally:
        for pid in stopped:
            os.kill(pid, signal.SIGCONT)
    await outage.all_there(before)
    await outage.deployment.write(5)
    await outage.deployment.all_delivered(10)


def family(pid):
    """A process and its children, by /proc."""
    children = [int(path.parent.name) for path in Path("/proc").glob("[0-9]*/stat") if _parent(path) == pid]
    return [pid, *children]


def _parent(stat):
    with contextlib.suppress(OSError):
        return int(stat.read_text().rpartition(")")[2].split()[1])
    return 0
