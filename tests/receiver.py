"""A webhook receiver for tests: a real HTTP server in the test's own loop, with answers to choose."""

import asyncio
import json
from collections.abc import Callable
from typing import Any, NamedTuple, Self

Answer = int | Callable[["Received"], int]


class Received(NamedTuple):
    """One request as it came."""

    path: str
    headers: dict[str, str]
    body: bytes

    @property
    def webhook_id(self) -> str:
        return self.headers["webhook-id"]

    @property
    def attempt(self) -> int:
        return int(self.headers["x-service-attempt"])

    @property
    def event(self) -> str:
        return str(json.loads(self.body)["event"])


class Receiver:
    """`async with Receiver() as receiver`: then `receiver.url`, `receiver.deliveries`, `await receiver.received(n)`."""

    def __init__(self, answer: Answer = 204) -> None:
        self.answer = answer
        self.extra_headers = ""
        self.echo = False  # whether an answer's body is the request's
        self.deliveries: list[Received] = []
        self._arrived = asyncio.Condition()
        self._open = asyncio.Event()
        self._open.set()
        self._connections: set[asyncio.StreamWriter] = set()

    async def __aenter__(self) -> Self:
        self._server = await asyncio.start_server(self._serve, "127.0.0.1", 0)
        self.port = self._server.sockets[0].getsockname()[1]
        self.url = f"http://127.0.0.1:{self.port}/hook"
        return self

    async def __aexit__(self, *_: object) -> None:
        self._open.set()
        self._server.close()
        for connection in list(self._connections):
            connection.close()
        await asyncio.sleep(0)

    def hang(self) -> None:
        """Leave requests unanswered until `release`."""
        self._open.clear()

    def release(self) -> None:
        self._open.set()

    async def received(self, count: int, seconds: float = 240.0) -> list[Received]:
        """Wait for `count` requests in all."""
        async with asyncio.timeout(seconds), self._arrived:
            await self._arrived.wait_for(lambda: len(self.deliveries) >= count)
        return self.deliveries

    async def _serve(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        self._connections.add(writer)
        try:
            while head := await reader.readuntil(b"\r\n\r\n"):
                received = await self._read(head.decode("latin-1"), reader)
                async with self._arrived:
                    self.deliveries.append(received)
                    self._arrived.notify_all()
                await self._open.wait()
                status = self.answer(received) if callable(self.answer) else self.answer
                body = b"" if status == 204 else received.body if self.echo else b"ok"
                length = f"Content-Length: {len(body)}\r\n" if body else ""
                writer.write(f"HTTP/1.1 {status} X\r\n{self.extra_headers}{length}\r\n".encode() + body)
                await writer.drain()
        except (asyncio.IncompleteReadError, ConnectionError):
            pass
        finally:
            self._connections.discard(writer)
            writer.close()

    @staticmethod
    async def _read(head: str, reader: asyncio.StreamReader) -> Received:
        first, *lines = head.strip().split("\r\n")
        headers = {name.lower(): value.strip() for name, _, value in (line.partition(":") for line in lines)}
        body: Any = await reader.readexactly(int(headers.get("content-length", "0")))
        return Received(first.split(" ")[1], headers, body)
