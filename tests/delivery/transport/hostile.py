"""Receivers that misbehave, each on a real socket."""

import asyncio
import gzip
import ssl
from collections.abc import AsyncIterator, Awaitable, Callable
from contextlib import asynccontextmanager

Behavior = Callable[[asyncio.StreamReader, asyncio.StreamWriter], Awaitable[None]]


@asynccontextmanager
async def server(behavior: Behavior, tls: ssl.SSLContext | None = None, host: str = "127.0.0.1") -> AsyncIterator[int]:
    """Serve `behavior`; answers the port."""
    tasks: set[asyncio.Task[None]] = set()

    async def serve(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        task = asyncio.current_task()
        assert task is not None
        tasks.add(task)
        try:
            await behavior(reader, writer)
        except (ConnectionError, asyncio.IncompleteReadError, asyncio.CancelledError, ssl.SSLError):
            pass  # also the end of the test: asyncio's streams log a canceled handler as an error
        finally:
            writer.close()

    listening = await asyncio.start_server(serve, host, 0, ssl=tls)
    try:
        yield listening.sockets[0].getsockname()[1]
    finally:
        listening.close()
        for task in tasks:
            task.cancel()
        await asyncio.gather(*tasks, return_exceptions=True)


async def _request(reader: asyncio.StreamReader) -> bytes:
    head = await reader.readuntil(b"\r\n\r\n")
    length = next((line for line in head.lower().split(b"\r\n") if line.startswith(b"content-length:")), b":0")
    return head + await reader.readexactly(int(length.split(b":")[1]))


async def hangs(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
    await _request(reader)
    await asyncio.Event().wait()


def broken_body(status: int, how: str) -> Behavior:
    """An odd head, or a body that never comes to its end: `how` is a key below."""
    framing, sent = {
        "cut": (b"Content-Length: 1000", b"half"),
        "slow": (b"Content-Length: 1000", b"half"),
        "none": (b"Content-Length: 1000", b""),
        "endless chunks": (b"Transfer-Encoding: chunked", b"4\r\nhalf\r\n"),
        "no chunks": (b"Transfer-Encoding: chunked", b"this is no chunk\r\n"),
        "no gzip": (b"Content-Encoding: gzip\r\nContent-Length: 4", b"half"),
        "no length": (b"Transfer-Encoding: chunked\r\nContent-Length: \xff", b"4\r\nhalf\r\n0\r\n\r\n"),
        "no text": (b"Retry-After: \xff\r\nContent-Length: 4", b"half"),
        "endless length": (b"Transfer-Encoding: chunked\r\nContent-Length: " + b"9" * 5000, b"4\r\nhalf\r\n0\r\n\r\n"),
        "in two lines": (b"X: of an earlier\r\n standard\r\nContent-Length: 4", b"half"),
        "a space": (b"X : a\r\nContent-Length: 4", b"half"),
        "no header": (b"this is no header\r\nContent-Length: 4", b"half"),
    }[how]

    async def behave(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        await _request(reader)
        writer.write(b"HTTP/1.1 %d X\r\n%b\r\n\r\n%b" % (status, framing, sent))
        await writer.drain()
        if how in ("slow", "none", "endless chunks"):
            await asyncio.Event().wait()

    return behave


async def answers_in_parts(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
    while True:
        await _request(reader)
        for part in (b"HTTP/1.1 200 OK\r\n", b"Transfer-Encoding: chunked\r\n\r\n", b"2\r\nok\r\n", b"0\r\n\r\n"):
            writer.write(part)
            await writer.drain()
            await asyncio.sleep(0)


async def drips(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
    """A byte at a time, for ever."""
    await _request(reader)
    writer.write(b"HTTP/1.1 200 OK\r\nContent-Length: 1000000\r\n\r\n")
    while True:
        writer.write(b".")
        await writer.drain()
        await asyncio.sleep(0.02)


async def drips_headers(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
    await _request(reader)
    writer.write(b"HTTP/1.1 200 OK\r\n")
    while True:
        writer.write(b"X-A: b\r\n")
        await writer.drain()
        await asyncio.sleep(0.05)


async def floods_1xx(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
    await _request(reader)
    while True:
        writer.write(b"HTTP/1.1 103 Early Hints\r\n\r\n")
        await writer.drain()
        await asyncio.sleep(0)


async def endless(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
    """As much as is taken."""
    await _request(reader)
    writer.write(b"HTTP/1.1 200 OK\r\nContent-Length: 10000000000\r\n\r\n")
    while True:
        writer.write(b"x" * 65536)
        await writer.drain()


async def gzip_bomb(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
    await _request(reader)
    bomb = gzip.compress(b"\0" * 10_000_000)
    writer.write(b"HTTP/1.1 200 OK\r\nContent-Encoding: gzip\r\nContent-Length: %d\r\n\r\n" % len(bomb) + bomb)
    await writer.drain()


async def resets_mid_headers(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
    await _request(reader)
    writer.write(b"HTTP/1.1 200 OK\r\nContent-Le")
    await writer.drain()
    writer.transport.abort()


async def closes_at_once(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
    await _request(reader)


async def speaks_no_http(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
    writer.write(b"220 mail.example.com ESMTP\r\n")
    await writer.drain()


async def speaks_only_old_tls(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
    """What a TLS 1.0 server says to a modern hello: a fatal alert, protocol_version."""
    await reader.read(5)
    writer.write(bytes.fromhex("15030100020246"))
    await writer.drain()
    await reader.read(1)


async def redirects(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
    await _request(reader)
    writer.write(b"HTTP/1.1 307 X\r\nLocation: http://169.254.169.254/\r\nContent-Length: 0\r\n\r\n")
    await writer.drain()


async def huge_headers(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
    await _request(reader)
    writer.write(b"HTTP/1.1 200 OK\r\n" + b"X-A: " + b"b" * 10_000_000 + b"\r\n\r\n")
    await writer.drain()


def many_headers(count: int) -> Behavior:
    async def behave(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        await _request(reader)
        writer.write(b"HTTP/1.1 204 No Content\r\n" + b"X: 1\r\n" * count + b"\r\n")
        await writer.drain()

    return behave


async def answers(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
    while True:
        await _request(reader)
        writer.write(b"HTTP/1.1 204 No Content\r\n\r\n")
        await writer.drain()


async def answers_once_then_closes(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
    """Promises to keep the connection, and does not."""
    await _request(reader)
    writer.write(b"HTTP/1.1 204 No Content\r\nConnection: keep-alive\r\n\r\n")
    await writer.drain()
