"""PostgreSQL and Redis go away and come back: every process stays, says what is wrong, and goes on by itself."""

import contextlib
import os
import signal
from pathlib import Path

import pytest

from leadwire.infrastructure.settings import Settings
from leadwire_development.embedded import services
from tests.flows.commands import data_directory
from tests.flows.outages import LONGEST_PAUSE, SLACK, assert_bounded, out_of_memory, pids
from tests.waiting import eventually

pytestmark = pytest.mark.flow

UNANSWERED = ("no answer within 1 s", "ConnectionDoesNotExistError", "TimeoutError")  # the later ones once it is left
LOOPS = ("fan_out", "admit")  # of the relay: each pauses for itself


@pytest.fixture(scope="module")
def servers():
    """Of this module's own, to be stopped."""
    with data_directory() as directory, services(Settings(data_dir=directory), durable=True) as running:
        yield running


async def test_postgresql_goes_away_and_comes_back(outage, api):
    before = pids(outage)
    assert (await api.get("/v1/leads")).status_code == 200
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
        answer = await api.get("/v1/leads")
        assert (answer.status_code, answer.headers["retry-after"]) == (503, "5")
        await eventually(lambda: outage.metric_is(outage.relay, 0, "leadwire_database_up"))
        for loop in LOOPS:
            await eventually(lambda loop=loop: len(outage.failures(outage.relay, "loop.failed", loop=loop)) >= 5)
        await eventually(lambda: len(outage.failures(outage.background, "loop.failed", loop="jobs")) >= 5)
        await eventually(lambda: len(outage.failures(outage.worker, "database.unreachable")) >= 5)

    await outage.all_there(before)
    await outage.deployment.write(20)
    await outage.deployment.all_delivered(45)
    assert len(outage.deployment.receiver.deliveries) == 45  # what was answered meanwhile was not sent again
    for loop in LOOPS:
        assert_bounded(outage.failures(outage.relay, "loop.failed", loop=loop))
    assert_bounded(outage.failures(outage.background, "loop.failed", loop="jobs"))
    assert_bounded(outage.failures(outage.worker, "database.unreachable"))
    await eventually(lambda: outage.metric_is(outage.relay, 1, "leadwire_database_up"))
    assert (await api.get("/v1/leads")).status_code == 200


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
        await eventually(lambda: len(outage.failures(outage.worker, "deliver.failed")) >= 5)
        await eventually(lambda: len(outage.failures(outage.relay, "loop.failed", loop="fan_out")) >= 5)

    await outage.all_there(before)
    await outage.deployment.write(20)
    await outage.deployment.all_delivered(60)
    assert_bounded(outage.failures(outage.worker, "deliver.failed"))
    assert_bounded(outage.failures(outage.relay, "loop.failed", loop="fan_out"))


async def test_a_redis_without_memory_takes_no_entries_until_there_is_some(outage, api):
    """Changes are committed meanwhile, and their events are sent within seconds of there being memory."""
    before, deployment = pids(outage), outage.deployment
    lead = await deployment.lead()
    await deployment.write(10)
    await deployment.all_delivered(10)
    assert await deployment.redis.config_get("maxmemory-policy") == {"maxmemory-policy": "noeviction"}
    outage.starts()
    await deployment.redis.config_set("maxmemory", 1)
    try:
        for score in range(1, 21):
            assert (await api.patch(lead, json={"score": score})).status_code == 200
        await deployment.write(10)
        for process, status in ((outage.serve, 200), (outage.relay, 503), (outage.worker, 503)):
            assert await outage.says(process, status, "redis", "OutOfMemoryError")
            assert (await outage.get(process, "/health/live"))[0] == 200
        await eventually(lambda: outage.metric_is(outage.relay, 0, "leadwire_redis_up"))
        await eventually(lambda: len(outage.failures(outage.relay, "loop.failed", loop="fan_out")) >= 5)
        await eventually(lambda: out_of_memory(outage.relay, "loop.failed"))
        await eventually(lambda: out_of_memory(outage.serve, "stream.unreachable"))
        assert len(deployment.receiver.deliveries) == 10
        assert await deployment.state("waiting") == 0
        assert (await api.get("/v1/leads")).status_code == 200
    finally:
        await deployment.redis.config_set("maxmemory", 0)
    await deployment.all_delivered(40, LONGEST_PAUSE + SLACK)
    assert len(deployment.receiver.deliveries) == 40
    await outage.all_there(before)
    assert_bounded(outage.failures(outage.relay, "loop.failed", loop="fan_out"))


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
                assert status == 503
                assert said["checks"]["database"] in UNANSWERED
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
