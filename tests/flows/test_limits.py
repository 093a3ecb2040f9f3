"""The API as it is started has the limits that its settings give."""

import asyncio

import pytest

from tests.flows.commands import Started, free_port, settings_on

pytestmark = pytest.mark.flow


async def test_a_real_process_bounds_time_heads_and_connections(servers, connected):
    port = free_port()
    limits = {"REQUEST_TIMEOUT": "2", "MAX_CONNECTIONS_PER_ADDRESS": "2"}
    process = Started("serve", "--port", str(port), **settings_on(servers, **limits))

    async def said(request: bytes) -> bytes:
        reader, writer = await asyncio.open_connection("127.0.0.1", port)
        writer.write(request)
        answer = await asyncio.wait_for(reader.read(-1), 240)
        writer.close()
        return answer[:13]

    half = b"GET /health/live HTTP/1.1\r\nHost: x\r\n"
    try:
        await process.up()
        assert await said(half + b"Connection: close\r\n\r\n") == b"HTTP/1.1 200 "
        assert await said(half) == b"HTTP/1.1 408 "
        assert await said(half + b"X: " + b"a" * 40_000) == b"HTTP/1.1 431 "
        assert sorted(await asyncio.gather(said(half), said(half), said(b""))) == [
            b"HTTP/1.1 408 ", b"HTTP/1.1 408 ", b"HTTP/1.1 503 ",
        ]  # fmt: skip
    finally:
        process.close()
