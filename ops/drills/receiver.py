"""A customer's system whose behavior changes while it runs: it answers, refuses, hangs, or kills the worker."""

import asyncio
import math
import re
import time
from collections.abc import Callable, Mapping
from typing import Any, Final, NamedTuple, Self

from leadwire_client.errors import InvalidSignature
from leadwire_client.verify import authentic
from ops.chaos import payload

HANGS: Final = 0
_SENDER: Final = re.compile(rb"x-deliver-(\d+)-attempt:", re.IGNORECASE)
_LENGTH: Final = re.compile(rb"content-length: *(\d+)", re.IGNORECASE)
_ID: Final = re.compile(rb"webhook-id: *(\S+)", re.IGNORECASE)


class Post(NamedTuple):
    """One POST, at its arrival (Unix time). `sender` is the number of the worker."""

    at: float
    endpoint: str
    event_id: str
    event: payload.EventKey
    sender: int
    answer: int

    @property
    def good(self) -> bool:
        """Whether it was acknowledged."""
        return 200 <= self.answer <= 299


class Receiver:
    """`async with Receiver() as receiver`: POST to `receiver.url(name)`."""

    def __init__(self) -> None:
        self.secrets: Mapping[str, str] = {}
        """By endpoint: what is not signed by it is answered with 401."""
        self.answers: dict[str, int] = {}
        """By endpoint: a status, or HANGS. 204 for the others."""
        self.delay = 0.0
        """Seconds it takes to answer."""
        self.before: Callable[[Post], bool] = lambda _: True
        """Asked at each arrival; the POST is not answered if it says so."""
        self.posts: list[Post] = []

    async def __aenter__(self) -> Self:
        self._server = await asyncio.get_running_loop().create_server(lambda: _Protocol(self), "127.0.0.1", 0)
        self._port: int = self._server.sockets[0].getsockname()[1]
        return self

    async def __aexit__(self, *_: object) -> None:
        self._server.close()

    def url(self, endpoint: str) -> str:
        """Where an endpoint is."""
        return f"http://127.0.0.1:{self._port}/{endpoint}"

    def acknowledged(self, endpoint: str) -> dict[payload.EventKey, float]:
        """When each event was first acknowledged at an endpoint."""
        first: dict[payload.EventKey, float] = {}
        for post in self.posts:
            if post.good and post.endpoint == endpoint:
                first.setdefault(post.event, post.at)
        return first

    def doubled(self) -> int:
        """POSTs of what had been acknowledged before."""
        good = [(post.endpoint, post.event_id) for post in self.posts if post.good]
        return len(good) - len(set(good))


class _Protocol(asyncio.Protocol):
    def __init__(self, receiver: Receiver) -> None:
        self._receiver = receiver

    def connection_made(self, transport: Any) -> None:
        self._transport, self._buffer = transport, b""

    def data_received(self, data: bytes) -> None:
        self._buffer += data
        while (end := self._buffer.find(b"\r\n\r\n")) >= 0:
            head = self._buffer[:end]
            size = end + 4 + int(found[1] if (found := _LENGTH.search(head)) else 0)
            if len(self._buffer) < size:
                return
            body, self._buffer = self._buffer[end + 4 : size], self._buffer[size:]
            self._arrived(head, body)

    def _arrived(self, head: bytes, body: bytes) -> None:
        endpoint = head.split(b" ", 2)[1].decode().strip("/")
        sender, event_id = _SENDER.search(head), _ID.search(head)
        assert sender
        assert event_id
        signed = endpoint not in self._receiver.secrets or _signed(head, body, self._receiver.secrets[endpoint])
        answer = self._receiver.answers.get(endpoint, 204) if signed else 401
        post = Post(time.time(), endpoint, event_id[1].decode(), payload.read(body), int(sender[1]), answer)
        if not self._receiver.before(post):
            post = post._replace(answer=HANGS)
        self._receiver.posts.append(post)
        if post.answer != HANGS:
            asyncio.get_running_loop().call_later(self._receiver.delay, self._answer, post.answer)

    def _answer(self, status: int) -> None:
        if not self._transport.is_closing():
            length = b"" if status == 204 else b"Content-Length: 0\r\n"
            self._transport.write(b"HTTP/1.1 %d X\r\n%s\r\n" % (status, length))


def _signed(head: bytes, body: bytes, secret: str) -> bool:
    headers = dict(line.split(": ", 1) for line in head.decode().split("\r\n")[1:])
    try:
        authentic(body, headers, secret, tolerance=math.inf)
    except InvalidSignature:
        return False
    return True
