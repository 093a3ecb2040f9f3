"""Each process alone, on servers that others run, and killed with its hands full: every event arrives."""

import asyncio
import signal
from collections import Counter

import pytest

from tests.flows.commands import free_port
from tests.flows.deployment import AGED, Deployment
from tests.waiting import eventually

pytestmark = pytest.mark.flow


async def test_a_killed_worker_is_taken_over_by_another(deployment: Deployment) -> None:
    await deployment.start("relay")
    doomed = await deployment.start("deliver")
    deployment.receiver.hang()
    await deployment.write(60)
    await deployment.receiver.received(1)
    await eventually(lambda: deployment.state("queued"))
    doomed.process.kill()
    doomed.process.wait()
    deployment.receiver.release()
    await deployment.start("deliver")
    await deployment.all_delivered(60)
    assert len(deployment.receiver.deliveries) > 60  # those in flight came twice, under one id


async def test_a_killed_relay_is_taken_over_by_another(deployment: Deployment) -> None:
    doomed = await deployment.start("relay")
    await deployment.start("deliver")
    await deployment.write(300)
    await deployment.receiver.received(1)
    doomed.process.kill()
    await deployment.write(300)
    await deployment.start("relay")
    # What it had committed and not yet put into a stream is found by its age: older by SQL, so that nobody waits.
    await deployment.sql.execute(AGED)
    await deployment.all_delivered(600)


async def test_what_a_process_queued_before_it_was_killed_is_sent(deployment: Deployment) -> None:
    """It had committed, and no stream has the entries: the relay finds them by their age."""
    await deployment.write(300, queued=True)
    await deployment.sql.execute(AGED)
    await deployment.start("relay")
    await deployment.start("deliver")
    await deployment.all_delivered(300)
    attempts = Counter((one.webhook_id, one.attempt) for one in deployment.receiver.deliveries)
    assert set(attempts.values()) == {1}  # an answer may be too late, and is asked for again


async def test_a_flushed_redis_in_the_middle_loses_none_of_2000(deployment: Deployment) -> None:
    await deployment.start("relay")
    await deployment.start("deliver")
    await deployment.write(2000)
    await deployment.receiver.received(300)
    deployment.receiver.hang()  # else all may be sent before Redis has answered
    await deployment.redis.flushall()
    assert len(deployment.receiver.deliveries) < 2000
    deployment.receiver.release()
    await deployment.write(100)

    async def older() -> bool:
        """Not a minute's wait: what is queued and has no entry is made older."""
        await deployment.sql.execute(AGED)
        return await deployment.state("delivered") == 2100

    await eventually(older)
    await deployment.all_delivered(2100)


async def test_a_worker_told_to_stop_finishes_what_it_has_in_hand(deployment: Deployment) -> None:
    deployment.settings = deployment.settings | {"DELIVERY_TIMEOUT": "200", "LEASE": "240"}
    relay = await deployment.start("relay")
    worker = await deployment.start("deliver")
    deployment.receiver.hang()
    await deployment.write(40)
    await deployment.receiver.received(1)
    worker.process.send_signal(signal.SIGTERM)
    deployment.receiver.release()
    assert await asyncio.to_thread(worker.process.wait, 240) == 0
    assert "process.stopped" in worker.err
    delivered = await deployment.state("delivered")
    assert delivered == len(deployment.receiver.deliveries) >= 1  # nothing it sent is forgotten
    await deployment.start("deliver")
    await deployment.all_delivered(40)
    assert len(deployment.receiver.deliveries) == 40  # and nothing was sent twice
    assert relay.signal() == 0


async def test_serve_stops_cleanly_and_answers_what_it_had_begun(deployment: Deployment) -> None:
    port = free_port()
    serve = await deployment.start("serve", "--port", str(port))

    async def ready() -> bool:
        try:
            reader, writer = await asyncio.open_connection("127.0.0.1", port)
        except OSError:
            return False
        writer.write(b"GET /health/ready HTTP/1.1\r\nHost: test\r\nConnection: close\r\n\r\n")
        answer = await reader.read()
        writer.close()
        return answer.startswith(b"HTTP/1.1 200")

    await eventually(ready)
    assert await asyncio.to_thread(serve.signal) == 0
    assert not await ready()
