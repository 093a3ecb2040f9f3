"""A receiver that costs next to nothing: counts POSTs and notes when each event came, in a process of its own.

The path says how it behaves: `/hook` answers at once, `/slow` after 50 ms, `/late` after 4 s, `/hang` never, `/reset`
cuts the connection. What follows, as in `/hang/7`, makes addresses different.
"""

import asyncio
import multiprocessing
import os
import socket
import struct
import time
from multiprocessing.connection import Connection
from typing import Any, Self

import uvloop

_AFTER = {b"/slow": 0.05, b"/late": 4.0}  # seconds
_AT_ONCE = struct.pack("ii", 1, 0)
_ANSWER = b"HTTP/1.1 204 No Content\r\n\r\n"


class Sink:
    """`async with Sink() as sink`: POST to `sink.url()`; `sink.seen()` tells when (CLOCK_MONOTONIC) each event came."""

    async def __aenter__(self) -> Self:
        ours, theirs = multiprocessing.Pipe()
        self._pipe = ours
        self._process = multiprocessing.get_context("spawn").Process(target=_serve, args=(theirs,), daemon=True)
        self._process.start()
        self._port = await asyncio.to_thread(ours.recv)
        return self

    def url(self, manner: str = "hook", host: str = "127.0.0.1") -> str:
        """Where it behaves so."""
        return f"http://{host}:{self._port}/{manner}"

    async def __aexit__(self, *_: object) -> None:
        self._process.kill()
        self._process.join()

    async def seen(self) -> dict[str, float]:
        """Arrivals so far, by webhook-id, and forget them."""
        self._pipe.send("seen")
        found: dict[str, float] = await asyncio.to_thread(self._pipe.recv)
        return found

    async def count(self) -> int:
        """POSTs so far."""
        self._pipe.send("count")
        found: int = await asyncio.to_thread(self._pipe.recv)
        return found


class _Protocol(asyncio.Protocol):
    seen: dict[str, float] = {}  # noqa: RUF012 - one table for the process
    count = 0

    def connection_made(self, transport: Any) -> None:
        self._transport, self._buffer = transport, b""

    def data_received(self, data: bytes) -> None:
        self._buffer += data
        while (end := self._buffer.find(b"\r\n\r\n")) >= 0:
            head = self._buffer[:end].lower()
            length = _value(head, b"content-length: ")
            size = end + 4 + int(length or b"0")
            if len(self._buffer) < size:
                return
            self._buffer = self._buffer[size:]
            manner = b"/" + head.split(b" ", 2)[1].split(b"/")[1]
            if manner == b"/hang":
                continue
            if manner == b"/reset":
                # A reset, not an end: that would keep the port for a minute, and ports run out.
                self._transport.get_extra_info("socket").setsockopt(socket.SOL_SOCKET, socket.SO_LINGER, _AT_ONCE)
                self._transport.abort()
                return
            _Protocol.count += 1
            _Protocol.seen.setdefault(_value(head, b"webhook-id: ").decode(), time.monotonic())
            if after := _AFTER.get(manner):
                asyncio.get_running_loop().call_later(after, self._answer)
            else:
                self._transport.write(_ANSWER)

    def _answer(self) -> None:
        if not self._transport.is_closing():
            self._transport.write(_ANSWER)


def _value(head: bytes, name: bytes) -> bytes:
    start = head.find(name)
    return head[start + len(name) :].split(b"\r\n", 1)[0] if start >= 0 else b""


def _serve(pipe: Connection) -> None:
    async def run() -> None:
        loop = asyncio.get_running_loop()
        server = await loop.create_server(_Protocol, "127.0.0.1", 0)
        pipe.send(server.sockets[0].getsockname()[1])

        def asked() -> None:
            try:
                question = pipe.recv()
            except EOFError:  # the bench was killed
                os._exit(1)
            if question == "count":
                pipe.send(_Protocol.count)
            else:
                pipe.send(_Protocol.seen)
                _Protocol.seen = {}

        loop.add_reader(pipe.fileno(), asked)
        os.set_blocking(pipe.fileno(), True)  # an answer may be longer than the pipe
        await server.serve_forever()

    uvloop.run(run())
