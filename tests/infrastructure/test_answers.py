"""What is sent of an answer, and when: its head together with its body, where it says how long that is."""

import asyncio
import contextlib

import pytest

from tests.serving import on_socket

GET = b"GET / HTTP/1.1\r\nHost: x\r\n"
LAST = GET + b"Connection: close\r\n\r\n"


class App:
    """Sends a head, and then parts of a body once it is let go on; `/at-once` does not wait."""

    def __init__(self, length=True, parts=(b"o", b"k")):
        size = sum(2 if part is None else len(part) for part in parts)
        self.headers = [(b"content-length", b"%d" % size)] if length else []
        self.parts = parts
        self.begun, self.go_on = asyncio.Event(), asyncio.Event()

    async def __call__(self, scope, receive, send):
        while (await receive()).get("more_body"):
            pass
        await send({"type": "http.response.start", "status": 200, "headers": self.headers})
        if scope["path"] != "/at-once":
            self.begun.set()
            await self.go_on.wait()
        if None in self.parts:
            raise RuntimeError("broken off")
        for part in self.parts:
            await send({"type": "http.response.body", "body": part, "more_body": True})
        await send({"type": "http.response.body"})


@contextlib.asynccontextmanager
async def asking(app, *requests):
    """A connection for each."""
    async with on_socket(app) as url, asyncio.timeout(240):
        port, writers, readers = int(url.rpartition(":")[2]), [], []
        for request in requests:
            reader, writer = await asyncio.open_connection("127.0.0.1", port)
            writer.write(request)
            readers.append(reader)
            writers.append(writer)
        yield readers
        for writer in writers:
            writer.close()


async def test_a_head_with_a_length_waits_for_its_body():
    app = App()
    async with asking(app, LAST) as (reader,):
        await app.begun.wait()
        async with asking(App(), LAST.replace(b"/", b"/at-once", 1)) as (other,):
            assert (await other.read(-1)).endswith(b"\r\n\r\nok")
        assert not reader._buffer
        app.go_on.set()
        assert (await reader.read(-1)).endswith(b"\r\n\r\nok")


async def test_the_head_of_a_stream_does_not_wait():
    app = App(length=False)
    async with asking(app, LAST) as (reader,):
        assert (await reader.readuntil(b"\r\n\r\n")).startswith(b"HTTP/1.1 200 OK\r\n")
        app.go_on.set()
        assert await reader.read(-1) == b"1\r\no\r\n1\r\nk\r\n0\r\n\r\n"


@pytest.mark.parametrize("parts", [(b"ok",), (b"o", b"", b"k"), (b"",), (bytes(300_000), b"ok")])
async def test_answers_to_get_and_head_follow_each_other(parts):
    app = App(parts=parts)
    app.go_on.set()
    async with asking(app, GET + b"\r\n" + LAST.replace(b"GET", b"HEAD")) as (reader,):
        answer = await reader.read(-1)
    first, second, end = answer.split(b"\r\n\r\n")
    assert first.startswith(b"HTTP/1.1 200")
    assert second.startswith(b"".join(parts) + b"HTTP/1.1 200")
    assert end == b""


async def test_who_asks_whether_to_go_on_is_told_at_once():
    app = App()
    app.go_on.set()
    expecting = GET.replace(b"GET", b"POST") + b"Content-Length: 1\r\nExpect: 100-continue\r\nConnection: close\r\n\r\n"
    async with on_socket(app) as url, asyncio.timeout(240):
        reader, writer = await asyncio.open_connection("127.0.0.1", int(url.rpartition(":")[2]))
        writer.write(expecting)
        assert await reader.readuntil(b"\r\n\r\n") == b"HTTP/1.1 100 Continue\r\n\r\n"
        writer.write(b"1")
        assert (await reader.read(-1)).endswith(b"\r\n\r\nok")
        writer.close()


async def test_an_answer_that_breaks_off_is_closed():
    app = App(parts=(None,))
    app.go_on.set()
    async with asking(app, GET + b"\r\n") as (reader,):
        assert b"ok" not in await reader.read(-1)
