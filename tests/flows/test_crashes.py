"""Each process alone, on servers that others run, and killed with its hands full: every event arrives."""

import asyncio
import signal

import pytest

from tests.flows.commands import free_port
from tests.flows.wire import AGED, Wire
from tests.waiting import eventually

pytestmark = pytest.mark.flow


async def test_a_killed_worker_is_taken_over_by_another(wire: Wire) -> None:
    await wire.start("relay")
    doomed = await wire.start("deliver")
    wire.receiver.hang()
    await wire.write(60)
    await wire.receiver.received(1)
    await eventually(lambda: wire.state("queued"))
    doomed.process.kill()
    doomed.process.wait()
    wire.receiver.release()
    await wire.start("deliver")
    await wire.all_delivered(60)
    assert len(wire.receiver.deliveries) > 60  # those in flight came twice, under one id


async def test_a_killed_relay_is_taken_over_by_another(wire: Wire) -> None:
    doomed = await wire.start("relay")
    await wire.start("deliver")
    await wire.write(300)
    await wire.receiver.received(1)
    doomed.process.kill()
    await wire.write(300)
    await wire.start("relay")
    # What it had committed and not yet put into a stream is found by its age: older by SQL, so that nobody waits.
    await wire.sql.execute(AGED)
    await wire.all_delivered(600)


async def test_a_flushed_redis_in_the_middle_loses_none_of_2000(wire: Wire) -> None:
    await wire.start("relay")
    await wire.start("deliver")
    await wire.write(2000)
    await wire.receiver.received(300)
    await wire.redis.flushall()
    assert len(wire.receiver.deliveries) < 2000
    await wire.write(100)

    async def older() -> bool:
        """Not a minute's wait: what is queued and has no entry is made older."""
        await wire.sql.execute(AGED)
        return await wire.state("delivered") == 2100

    await eventually(older, 40)
    await wire.all_delivered(2100)


async def test_a_worker_told_to_stop_finishes_what_it_has_in_hand(wire: Wire) -> None:
    relay = await wire.start("relay")
    worker = await wire.start("deliver")
    wire.receiver.hang()
    await wire.write(40)
    await wire.receiver.received(1)
    worker.process.send_signal(signal.SIGTERM)
    wire.receiver.release()
    assert await asyncio.to_thread(worker.process.wait, 10) == 0
    assert "process.stopped" in worker.err
    delivered = await wire.state("delivered")
    assert delivered == len(wire.receiver.deliveries) >= 1  # nothing it sent is forgotten
    await wire.start("deliver")
    await wire.all_delivered(40)
    assert len(wire.receiver.deliveries) == 40  # and nothing was sent twice
    assert relay.signal() == 0


async def test_serve_stops_cleanly_and_answers_what_it_had_begun(wire: Wire) -> None:
    port = free_port()
    serve = await wire.start("serve", "--port", str(port))

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
