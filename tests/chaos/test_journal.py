"""The receiver of the chaos harness: what it writes down of a POST."""

import asyncio
from collections import Counter
from types import SimpleNamespace

import msgspec
from ops.chaos import journal
from ops.chaos.records import Post


async def test_how_long_an_answer_took_is_measured(tmp_path, monkeypatch):
    """A machine under load answers later than it was to."""
    path, times = tmp_path / "journal", iter([100.0, 103.5])
    monkeypatch.setattr(journal, "time", SimpleNamespace(time=lambda: next(times)))
    with path.open("ab", buffering=0) as file:
        server = await asyncio.get_running_loop().create_server(
            lambda: journal._Protocol(file, lambda _: "whsec_", Counter()), "127.0.0.1"
        )
        async with server:
            reader, writer = await asyncio.open_connection(*server.sockets[0].getsockname())
            body = b'{"event":"lead.updated","data":{"id":"lead_a"}}'
            writer.write(b"POST /slow HTTP/1.1\r\nContent-Length: %d\r\n\r\n%s" % (len(body), body))
            assert await reader.readline() == b"HTTP/1.1 401 X\r\n"
            writer.close()
            await writer.wait_closed()
    assert msgspec.json.decode(path.read_bytes(), type=Post).held == 3.5
