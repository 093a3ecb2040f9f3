"""One connection to a server: uvicorn's protocol, with a limit on everything that a client can make it hold.

uvicorn with httptools bounds neither the bytes of a request's head nor the time that a request may take. This is a
protocol class for its parameter `http`, made of what asyncio calls (`data_received`, `pause_writing`, ...) and what the
parser calls (`on_message_begin`, `on_headers_complete`, ...).
"""

import asyncio
import ipaddress
import math
import os
from collections import Counter
from collections.abc import Callable
from http import HTTPStatus
from typing import Any, Final

import msgspec
from uvicorn.protocols.http.httptools_impl import HttpToolsProtocol, RequestResponseCycle

from leadwire.infrastructure import settings
from leadwire.infrastructure.errors import (
    DomainError,
    HeadersTooLarge,
    MalformedRequest,
    RequestTimeout,
    Unavailable,
    UrlTooLong,
    problem,
)
from leadwire.infrastructure.settings import Network, Settings

_LONGEST_HEAD: Final = 32 * 1024  # bytes
_PIPELINED: Final = 16  # requests that wait behind one that is not answered yet
_LINGER: Final = 2.0  # seconds, and at most
_LINGER_BYTES: Final = 1024 * 1024  # that what a refused caller goes on sending is read and dropped
_NEVER: Final = math.inf
CLOSE: Final = "leadwire.close"
"""The ASGI extension that closes the connection of an answer, which then has no end."""
_TOO_LONG: Final = f"The head of a request may have {_LONGEST_HEAD // 1024} KiB."
_CLOSING: Final = {
    "Connection": "close",
    "Content-Type": "application/problem+json",
    "X-Content-Type-Options": "nosniff",
    "Cache-Control": "no-store",
}


def http_protocol(limits: Settings, leaving: Callable[[], bool], denied: Callable[[str], None]) -> type["HttpProtocol"]:
    """The protocol class for one server: its connections are counted together. While `leaving`, each answer closes."""

    class Limited(HttpProtocol):
        registry = _Registry(limits, leaving, denied)

    return Limited


class _Registry:
    """The connections of one server."""

    def __init__(self, limits: Settings, leaving: Callable[[], bool], denied: Callable[[str], None]) -> None:
        self.limits, self.leaving, self.denied = limits, leaving, denied
        self._open: set[HttpProtocol] = set()
        self._by_address: Counter[str] = Counter()
        self._every = min(1.0, limits.request_timeout / 4)  # seconds
        self._scheduled = False

    def admit(self, connection: "HttpProtocol") -> bool:
        """Return whether one more is allowed, and count it."""
        full = len(self._open) >= self.limits.max_connections
        many = self._by_address[connection.address] >= self.limits.max_connections_per_address
        if full or (many and connection.address):
            self.denied("process" if full else "address")
            return False
        if not self._scheduled:
            self._scheduled = True
            connection.loop.call_later(self._every, self._look, connection.loop)
        self._open.add(connection)
        self._by_address[connection.address] += 1
        return True

    def leave(self, connection: "HttpProtocol") -> None:
        """Stop counting `one`, if it was counted."""
        if connection in self._open:
            self._open.remove(connection)
            self._by_address[connection.address] -= 1
            if not self._by_address[connection.address]:
                del self._by_address[connection.address]

    def _look(self, loop: asyncio.AbstractEventLoop) -> None:
        """Close what is late. One check of all of them now and then costs less than a timer for every request."""
        now = loop.time()
        for connection in list(self._open):
            connection.check(now)
        self._scheduled = bool(self._open)
        if self._scheduled:
            loop.call_later(self._every, self._look, loop)


class HttpProtocol(HttpToolsProtocol):
    """uvicorn's, within limits. What exceeds them is answered 400, 408, 414, 431 or 503, if it can be, and closed."""

    registry: _Registry
    answer: RequestResponseCycle
    head: bytes | None
    """Of the answer: None before it is written, empty once it is sent."""

    def connection_made(self, transport: asyncio.Transport) -> None:  # type: ignore[override]  # as uvicorn's is
        super().connection_made(transport)
        self.close, self.is_closing = transport.close, transport.is_closing
        self.address = _address(self.client[0] if self.client else "", self.registry.limits.trusted_proxies)
        self.received_by = self.loop.time() + self.registry.limits.request_timeout
        self.taken_by = _NEVER
        self.chunk = 0  # bytes that came last, if they may be of one head
        self.overhead = 0  # bytes of the request so far that are not its body
        self.refusal: DomainError = MalformedRequest("The request is not HTTP/1.1.")
        self.refused = False
        if not self.registry.admit(self):
            self.refuse(Unavailable("There are too many connections."))

    def connection_lost(self, exc: Exception | None) -> None:
        self.registry.leave(self)
        super().connection_lost(exc)

    def data_received(self, data: bytes) -> None:
        if self.received_by == _NEVER:
            self.received_by = self.loop.time() + self.registry.limits.request_timeout
        self.chunk = len(data)
        self.overhead += self.chunk
        if self.refused:
            if self.overhead > _LINGER_BYTES:
                self.transport.abort()
            return
        super().data_received(data)
        if self.overhead > _LONGEST_HEAD:
            long_url = self.headers is not None and len(self.url) > _LONGEST_HEAD // 2
            self.refuse(UrlTooLong(_TOO_LONG) if long_url else HeadersTooLarge(_TOO_LONG))

    def on_message_begin(self) -> None:
        super().on_message_begin()
        self.overhead = self.chunk
        if self.received_by == _NEVER:  # the one before came with it
            self.received_by = self.loop.time() + self.registry.limits.request_timeout

    def on_headers_complete(self) -> None:
        """Refuse what no request may be. The parser stops at the exception, and uvicorn calls `send_400_response`."""
        if self.chunk > _LONGEST_HEAD:
            size = len(self.url) + sum(len(name) + len(value) for name, value in self.headers)
            if size > _LONGEST_HEAD:
                self.refusal = HeadersTooLarge(_TOO_LONG)
                raise self.refusal
        hosts = [name for name, _ in self.headers].count(b"host")
        if hosts > 1 or (not hosts and self.parser.get_http_version() != "1.0"):
            self.refusal = MalformedRequest("The request needs exactly one `Host` header.")
            raise self.refusal
        if len(self.pipeline) >= _PIPELINED:
            self.refusal = MalformedRequest(f"{_PIPELINED} requests wait already behind one that is not answered.")
            raise self.refusal
        super().on_headers_complete()

    def on_body(self, body: bytes) -> None:
        self.overhead -= 2 * len(body)  # chunked framing may be as long as what it frames
        super().on_body(body)

    def on_message_complete(self) -> None:
        self.received_by = _NEVER
        self.overhead = self.chunk = 0  # the rest of what came last, one read at the most, is not counted
        super().on_message_complete()

    def _start_asgi_task(self, cycle: RequestResponseCycle, app: Any) -> None:
        """Begin an answer. It takes this protocol for its transport: `write`, `close`, `is_closing`."""
        self.answer, self.head = cycle, None
        cycle.transport = self  # type: ignore[assignment]
        cycle.scope["extensions"] = {CLOSE: {"close": self.transport.close}}
        if self.registry.leaving():
            cycle.keep_alive = False
        super()._start_asgi_task(cycle, app)

    def write(self, data: bytes) -> None:
        """Keep a head that says how long its body is until the body begins: both are one packet, and one system call.
        A head alone, and one of a stream, is sent at once.
        """
        if self.head is None and self.answer.expected_content_length and self.answer.scope["method"] != "HEAD":
            self.head = data
        else:
            self.transport.write((self.head or b"") + data)
            self.head = b""

    def send_400_response(self, msg: str) -> None:  # noqa: ARG002 - uvicorn's message is not sent
        self.refuse(self.refusal)

    def pause_writing(self) -> None:
        self.taken_by = self.loop.time() + self.registry.limits.request_timeout
        super().pause_writing()

    def resume_writing(self) -> None:
        self.taken_by = _NEVER
        super().resume_writing()

    def refuse(self, error: DomainError) -> None:
        """Send the error, unless another response has begun, and close."""
        if self.refused or self.transport.is_closing():
            return
        cycle = self.cycle
        if (cycle is None or cycle.response_complete) and not isinstance(error, Unavailable):
            # To close while more is coming in would reset the connection, and the answer would be lost.
            self._send(error)
            self.transport.write_eof()
            self.refused = True
            self.overhead = 0
            self.received_by = self.loop.time() + _LINGER
            return
        if cycle is None or (cycle.more_body and not cycle.response_started and not self.pipeline):
            self._send(error)
        self.transport.close()

    def _send(self, error: DomainError) -> None:
        # Not logged, so that whoever opens thousands of connections fills no log.
        request_id = f"req_{os.urandom(12).hex()}"
        body = msgspec.json.encode(problem(error, request_id, settings.get().public_url))
        headers = {**_CLOSING, **error.headers, "X-Request-Id": request_id, "Content-Length": len(body)}
        lines = [f"HTTP/1.1 {error.status} {HTTPStatus(error.status).phrase}"]
        lines += [f"{name}: {value}" for name, value in headers.items()]
        head = "\r\n".join([*lines, "\r\n"]).encode()
        self.transport.write(head if self.parser.get_method() == b"HEAD" else head + body)

    def check(self, now: float) -> None:
        """Close the connection if its client is late."""
        if self.transport.is_closing() and self.taken_by == _NEVER:
            self.taken_by = now + self.registry.limits.request_timeout  # for the rest of the answer
        if now >= self.taken_by:
            self.transport.abort()
        elif now >= self.received_by:
            if self.headers is not None and not self.refused:
                seconds = self.registry.limits.request_timeout
                self.refuse(RequestTimeout(f"The request did not arrive within {seconds:g} s."))
            else:
                self.transport.close()  # browsers open connections ahead, and expect no answer on them


def _address(peer: str, proxies: tuple[Network, ...]) -> str:
    """What connections are counted by: an IPv4 address, or the /64 of an IPv6 one. Empty: not counted."""
    try:
        address = ipaddress.ip_address(peer)
    except ValueError:
        return ""
    if isinstance(address, ipaddress.IPv6Address):
        address = address.ipv4_mapped or address
    if any(address in network for network in proxies):
        return ""
    return str(address) if address.version == 4 else str(ipaddress.ip_network(f"{address}/64", strict=False))
