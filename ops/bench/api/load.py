"""The load: keep-alive connections that each ask, wait for the whole answer, and ask again."""

import asyncio
import itertools
import random
import time
from collections.abc import Callable
from typing import Any


class Client(asyncio.Protocol):
    """One connection."""

    def __init__(self, ask: Callable[[], bytes], until: float, took: list[float], bad: list[str]) -> None:
        self._ask, self._until, self._took, self._bad = ask, until, took, bad
        self._buffer = bytearray()
        self._needed = 0
        self._asked_at = 0.0
        self.done = asyncio.get_running_loop().create_future()

    def connection_made(self, transport: asyncio.BaseTransport) -> None:
        self._transport = transport
        self._next()

    def _next(self) -> None:
        self._asked_at = time.perf_counter()
        if self._asked_at >= self._until:
            self._transport.close()
            return
        self._transport.write(self._ask())

    def data_received(self, data: bytes) -> None:
        buffer = self._buffer
        buffer += data
        if not self._needed:
            end = buffer.find(b"\r\n\r\n")
            if end < 0:
                return
            head = bytes(buffer[:end]).lower()
            place = head.find(b"\r\ncontent-length:")
            if not head.startswith(b"http/1.1 200 ") or place < 0:
                self._bad.append(bytes(buffer[:300]).decode("latin-1"))
                self._transport.close()
                return
            self._needed = end + 4 + int(head[place + 17 :].split(b"\r\n", 1)[0])
        if len(buffer) >= self._needed:
            self._took.append(time.perf_counter() - self._asked_at)
            buffer.clear()
            self._needed = 0
            self._next()

    def connection_lost(self, error: Exception | None) -> None:
        if error:
            self._bad.append(repr(error))
        if not self.done.done():
            self.done.set_result(None)


def requests(orders: dict[str, Any]) -> Callable[[], bytes]:
    """A function that makes the next request."""
    start = f"HTTP/1.1\r\nHost: localhost\r\nAuthorization: Bearer {orders['key']}\r\nAccept: */*\r\n"
    if orders["kind"] == "list":
        text = f"GET /v1/leads?limit=20 {start}\r\n".encode()
        return lambda: text
    if orders["kind"] != "patch":
        made = [f"GET {path}/{id_} {start}\r\n".encode() for path in [orders["path"]] for id_ in orders["ids"]]
        return lambda: random.choice(made)
    start += "Content-Type: application/json\r\n"
    stamp = int(time.time())
    numbers = itertools.count()  # so that every patch changes something

    def patch() -> bytes:
        number = next(numbers)
        body = f'{{"score":{number % 101},"custom_fields":{{"note":"{stamp}-{number}"}}}}'
        id_ = random.choice(orders["ids"])
        return f"PATCH {orders['path']}/{id_} {start}Content-Length: {len(body)}\r\n\r\n{body}".encode()

    return patch


async def load(orders: dict[str, Any]) -> dict[str, Any]:
    """How many answers came, how fast, and which were bad."""
    ask = requests(orders)
    took: list[float] = []
    bad: list[str] = []
    loop = asyncio.get_running_loop()
    began = time.perf_counter()
    clients = []
    for _ in range(orders["connections"]):
        _, client = await loop.create_connection(
            lambda: Client(ask, began + orders["seconds"], took, bad), "127.0.0.1", orders["port"]
        )
        clients.append(client)
    await asyncio.gather(*(client.done for client in clients))
    elapsed = time.perf_counter() - began
    took.sort()
    of = len(took)
    answer = {"count": of, "elapsed": elapsed, "bad": len(bad), "first_bad": bad[:1]}
    if took:
        answer |= {"p50": took[of // 2] * 1e3, "p99": took[min(of - 1, of * 99 // 100)] * 1e3}
    return answer
