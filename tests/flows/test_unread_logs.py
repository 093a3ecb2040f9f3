"""Nobody reads what a process logs: requests go on, lines are dropped and counted, and the process still ends."""

import asyncio
import os
import re
import signal
import subprocess

import httpx
import pytest
from prometheus_client.parser import text_string_to_metric_families as parsed

from tests.flows.commands import COMMAND, environment, free_port, settings_on
from tests.waiting import eventually

pytestmark = pytest.mark.flow

REQUEST = b"GET /v1/leads HTTP/1.1\r\nHost: here\r\n\r\n"  # without a key: 401, and a line at the level debug
TIMES, AT_ONCE = 940, 16  # more at once would be refused


@pytest.fixture
def unread(servers, database):
    """A `serve` process whose standard error is a pipe without a reader; its port and its telemetry port."""
    port, telemetry = free_port(), free_port()
    settings = settings_on(servers, LOG_LEVEL="debug", TELEMETRY_PORT=str(telemetry))
    reader, writer = os.pipe()
    process = subprocess.Popen(
        [*COMMAND, "serve", "--port", str(port)], env=environment(**settings), stdin=subprocess.DEVNULL, stderr=writer
    )
    yield process, port, telemetry
    process.kill()
    process.wait()
    os.close(reader)
    os.close(writer)


async def ask(port):
    """Thousands of requests on one connection. Their lines are some megabytes; a pipe takes 64 KiB."""
    reader, writer = await asyncio.open_connection("127.0.0.1", port)
    try:
        for _ in range(TIMES):
            writer.write(REQUEST * AT_ONCE)
            for _ in range(AT_ONCE):
                head = await reader.readuntil(b"\r\n\r\n")
                assert head.startswith((b"HTTP/1.1 401 ", b"HTTP/1.1 429 "))
                length = re.search(rb"content-length: *(\d+)", head, re.IGNORECASE)
                await reader.readexactly(int(length[1]))
    finally:
        writer.close()


async def test_requests_are_answered_while_nobody_reads_standard_error(unread):
    process, port, telemetry = unread
    async with httpx.AsyncClient(trust_env=False, timeout=240) as client:

        async def ready():
            try:
                return (await client.get(f"http://127.0.0.1:{port}/health/ready")).is_success
            except httpx.TransportError:
                return False

        await eventually(ready)
        async with asyncio.timeout(240):
            await ask(port)
        scraped = parsed((await client.get(f"http://127.0.0.1:{telemetry}/metrics")).text)
    counted = {sample.name: sample.value for family in scraped for sample in family.samples}
    assert counted["leadwire_log_lines_dropped_total"] > 0
    process.send_signal(signal.SIGTERM)
    assert await asyncio.to_thread(process.wait, 240) == 0
