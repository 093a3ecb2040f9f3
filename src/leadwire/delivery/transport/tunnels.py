"""The way out through an operator's proxy: CONNECT to the address that the guard has vetted.

An HTTP client names the receiver to a proxy, which looks the name up by itself, perhaps to a private address. So ours
is given a proxy on loopback instead. It asks the operator's for the vetted address and passes the bytes on: TLS, with
the receiver's name, is between the client and the receiver. Each client has a password there, good for its receiver
alone.
"""

import asyncio
import base64
import contextlib
import re
import secrets
from collections.abc import Coroutine
from typing import Any, Final, NamedTuple
from urllib.parse import unquote, urlsplit
from weakref import WeakValueDictionary

_LIMIT: Final = 10.0  # seconds for the proxy to open a tunnel
_HEAD: Final = 16 * 1024  # bytes
_CHUNK: Final = 64 * 1024
_END: Final = b"\r\n\r\n"
_STATUS: Final = re.compile(rb"HTTP/1\.[01] (\d{3})\b")
_ASKED: Final = re.compile(rb"CONNECT (\S+) HTTP/1\.1\r\n(?:.*\r\n)*?proxy-authorization: (\S+)\r\n", re.IGNORECASE)

Streams = tuple[asyncio.StreamReader, asyncio.StreamWriter]


class ProxyFailed(Exception):
    """The proxy has opened no tunnel. The message says why, without the proxy's password."""


class Proxy(NamedTuple):
    """An operator's proxy. `authorization` is the value of Proxy-Authorization, or empty."""

    host: str
    port: int
    authorization: str

    def __repr__(self) -> str:
        """Without the password: this may end up in a log."""
        return f"Proxy({self.host}:{self.port})"

    @classmethod
    def read(cls, url: str) -> "Proxy":
        """`http://[user:password@]host:port`, as the settings have checked it."""
        parts = urlsplit(url)
        credentials = f"{unquote(parts.username or '')}:{unquote(parts.password or '')}"
        authorization = f"Basic {base64.b64encode(credentials.encode()).decode()}" if parts.username else ""
        return cls(parts.hostname or "", parts.port or 0, authorization)

    async def connect(self, address: str, port: int, limit: float = _LIMIT) -> Streams:
        """Open a tunnel to an address, within `limit` seconds. Raise ProxyFailed."""
        target = f"[{address}]:{port}" if ":" in address else f"{address}:{port}"
        request = f"CONNECT {target} HTTP/1.1\r\nHost: {target}\r\n"
        request += f"Proxy-Authorization: {self.authorization}\r\n" if self.authorization else ""
        writer = None
        try:
            async with asyncio.timeout(limit):
                reader, writer = await asyncio.open_connection(self.host, self.port, limit=_HEAD)
                writer.write(f"{request}\r\n".encode())
                head = await reader.readuntil(_END)
            status = _STATUS.match(head)
            if status and status[1].startswith(b"2"):
                return reader, writer
            reason = f"refused: {status[1].decode()}" if status else "does not speak HTTP"
        except TimeoutError:
            reason = f"did not answer CONNECT within {limit:g} s"
        except asyncio.IncompleteReadError:
            reason = "closed the connection"
        except asyncio.LimitOverrunError:
            reason = "does not speak HTTP"
        except (OSError, UnicodeError) as error:  # of a host that can be none
            reason = f"cannot be reached: {error}"
        except asyncio.CancelledError:
            if writer:
                writer.close()
            raise
        if writer:
            writer.close()
        raise ProxyFailed(f"proxy {reason}")


class Tunnel:
    """The way of one client to one receiver. `failure` is why the last one could not be opened."""

    def __init__(self, url: str, place: str, address: str, port: int) -> None:
        self.url, self.place, self.address, self.port = url, place, address, port
        self.authorization = secrets.token_urlsafe(24)
        self.failure = ""


class Tunnels:
    """The proxy on loopback. `timeout`: seconds that a whole request may take."""

    def __init__(self, proxy: Proxy, timeout: float) -> None:
        self._proxy = proxy
        self._limit = min(_LIMIT, timeout / 2)  # so that its failure is known before the request's time is over
        self._tunnels = WeakValueDictionary[bytes, Tunnel]()  # as long as their clients
        self._opening = asyncio.Lock()
        self._server: asyncio.Server | None = None
        self._busy: set[asyncio.Task[None]] = set()
        self._url = ""

    async def open(self, host: str, port: int, address: str) -> Tunnel:
        """The way to a receiver, at its vetted address."""
        async with self._opening:
            if self._server is None:
                self._server = await asyncio.start_server(self._accept, "127.0.0.1", 0, limit=_HEAD)
                self._url = f"http://127.0.0.1:{self._server.sockets[0].getsockname()[1]}"
        tunnel = Tunnel(self._url, f"[{host}]:{port}" if ":" in host else f"{host}:{port}", address, port)
        self._tunnels[tunnel.authorization.encode()] = tunnel
        return tunnel

    async def aclose(self) -> None:
        if self._server:
            self._server.close()
        for task in self._busy:
            task.cancel()
        await asyncio.gather(*self._busy, return_exceptions=True)

    def _accept(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        task = asyncio.create_task(self._serve(reader, writer))
        self._busy.add(task)
        task.add_done_callback(self._busy.discard)

    async def _serve(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        try:
            async with asyncio.timeout(self._limit):
                match = _ASKED.match(await reader.readuntil(_END))
            tunnel = self._tunnels.get(match[2]) if match else None
            if tunnel is None or not match or match[1].decode("latin-1") != tunnel.place:
                writer.write(b"HTTP/1.1 403 Forbidden\r\n\r\n")
                return
            try:
                there, back = await self._proxy.connect(tunnel.address, tunnel.port, self._limit)
            except ProxyFailed as failure:
                tunnel.failure = str(failure)
                writer.write(b"HTTP/1.1 502 Bad Gateway\r\n\r\n")
                return
            del tunnel  # its client may go before its connections
            with contextlib.closing(back):
                writer.write(b"HTTP/1.1 200 OK\r\n\r\n")
                await _first(_copy(reader, back), _copy(there, writer))
        except (OSError, TimeoutError, asyncio.IncompleteReadError, asyncio.LimitOverrunError):
            pass  # the client sees that the connection is closed
        finally:
            writer.close()


async def _copy(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
    while data := await reader.read(_CHUNK):
        writer.write(data)
        await writer.drain()


async def _first(*works: Coroutine[Any, Any, None]) -> None:
    """Until one of them ends. Raise what it raised."""
    tasks = [asyncio.ensure_future(work) for work in works]
    try:
        done, _ = await asyncio.wait(tasks, return_when=asyncio.FIRST_COMPLETED)
        for task in done:
            task.result()
    finally:
        for task in tasks:
            task.cancel()
        await asyncio.gather(*tasks, return_exceptions=True)
