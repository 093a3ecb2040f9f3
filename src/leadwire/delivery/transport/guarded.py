"""The transport of every webhook: httpx's interface outside, pyreqwest inside, the guard between.

It is an httpx transport, so anything that speaks httpx can go through the guard. The worker calls `post`, which skips
httpx's request and response objects: they cost as much again as the POST.
"""

import asyncio
import functools
import secrets
import socket
from collections.abc import Awaitable, Callable, Sequence
from concurrent.futures import ThreadPoolExecutor
from datetime import timedelta
from typing import Final, NamedTuple

from pyreqwest.client import Client, ClientBuilder
from pyreqwest.exceptions import PyreqwestError
from pyreqwest.http import Url
from pyreqwest.proxy import ProxyBuilder

from leadwire.delivery import metrics
from leadwire.delivery.transport.addresses import Network, checked, host_of, inside, literal, refusal
from leadwire.delivery.transport.identity import Identity
from leadwire.delivery.transport.joined import Joined
from leadwire.delivery.transport.responses import ConnectFailed, ReceiverResponse, TimedOut, read, translated
from leadwire.delivery.transport.tunnels import Proxy, Tunnel, Tunnels
from leadwire.infrastructure.errors import Invalid
from leadwire.infrastructure.http_client import httpx

Resolve = Callable[[str, int], Awaitable[list[str]]]

_CLIENTS: Final = 1024  # building one takes 4 ms and 115 kB
_NOWHERE: Final = "http://127.0.0.1:0"  # nothing listens on port 0
_ANSWER_HOLDS: Final = 60.0  # seconds that a vetted address is used before the name is looked up again
_LOOKUP_LIMIT: Final = 5.0  # seconds
IDLE: Final = timedelta(seconds=4)
"""Of a connection that is kept. Servers close theirs after 5 s by default (Node.js, uvicorn, Apache httpd), and an
attempt that goes out on one just then is lost.
"""
_OWN_HEADERS: Final = ("host", "content-length")  # pyreqwest sets these itself
_LOOKUPS: Final = 512  # threads: a look-up may hang for half a minute, and each host has one at the most


class _Origin(NamedTuple):
    scheme: str
    host: str
    port: int
    identity: Identity | None = None


class _Pinned(NamedTuple):
    client: Client
    address: str
    until: float
    tunnel: Tunnel | None


class GuardedTransport(httpx.AsyncBaseTransport):
    """Sends requests to vetted addresses, each within one deadline; raises an exception of `responses`.

    `allowed` are networks that may be reached although they are not public; `timeout` is in seconds, over everything
    from the name look-up to the last byte. `proxy` is the URL of an operator's proxy, which every address outside of
    `allowed` is reached through. `resolve` and `trusted_pem` replace the name look-up and add a certificate authority,
    for tests and private installations. At most 64 KiB of an answer are read, and nothing is decompressed.
    """

    def __init__(
        self,
        allowed: Sequence[Network],
        *,
        timeout: float,
        proxy: str = "",
        resolve: Resolve | None = None,
        trusted_pem: bytes | None = None,
    ) -> None:
        self._allowed = tuple(allowed)
        self._timeout = timeout
        self._resolve = resolve or self._look_up
        self._trusted_pem = trusted_pem
        self._tunnels = Tunnels(Proxy.read(proxy), timeout) if proxy else None
        self._threads = ThreadPoolExecutor(_LOOKUPS, thread_name_prefix="lookup")
        self._target = functools.lru_cache(4096)(functools.partial(_judged, self._allowed))
        self._pinned: dict[_Origin, _Pinned] = {}
        self._failed_at: dict[str, float] = {}  # addresses that could not be connected to
        self._pinning = Joined[_Pinned]()
        self._looking_up = Joined[list[str]]()

    async def handle_async_request(self, request: httpx.Request) -> httpx.Response:
        """The same for whatever speaks httpx: `httpx.AsyncClient(transport=...)`. A body that breaks off fails."""
        headers = [(name, value) for name, value in request.headers.multi_items() if name not in _OWN_HEADERS]
        body = await request.aread()
        answer = await self.post(str(request.url), headers, body, method=request.method, whole=True)
        return httpx.Response(answer.status, headers=answer.headers, stream=httpx.ByteStream(answer.body))

    async def post(
        self, url: str, headers: list[tuple[str, str]], body: bytes, identity: Identity | None = None, *,
        method: str = "POST", whole: bool = False,
    ) -> ReceiverResponse:  # fmt: skip
        """Send one request, with the client certificate of `identity`. No redirect is followed; a 3xx is the answer.

        The head of the answer decides, unless the `whole` is wanted: else of its body there is what came soon, whatever
        state it is in.
        """
        normal, origin = self._target(url)
        if identity:
            origin = origin._replace(identity=identity)
        loop = asyncio.get_running_loop()
        start = loop.time()
        pinned = self._pinned.get(origin)
        if pinned and pinned.until > start:
            sending = pinned.client.request(method, normal)
        else:
            pinned = await self._vetted_client(origin)
            # The client's own limit is the whole timeout, of which the look-up took a part.
            left = timedelta(seconds=max(self._timeout - (loop.time() - start), 0.001))
            sending = pinned.client.request(method, normal).timeout(left)
        # Without a read buffer the head is there before the body: the client would read ahead, and fail with it.
        sending = sending.headers(headers).body_bytes(body).streamed_read_buffer_limit(0)
        try:
            async with sending.build_streamed() as response:
                return await read(response, whole=whole)
        except PyreqwestError as error:
            failure = translated(error, pinned.tunnel.failure if pinned.tunnel else "")
            if isinstance(failure, ConnectFailed) and failure.outcome != "proxy_error":
                self._pinned.pop(origin, None)  # the name may have moved
                if len(self._failed_at) >= _CLIENTS:
                    self._failed_at.clear()
                self._failed_at[pinned.address] = loop.time()
            raise failure from error

    async def aclose(self) -> None:
        for pinned in self._pinned.values():
            await pinned.client.close()
        self._pinned.clear()
        if self._tunnels:
            await self._tunnels.aclose()
        self._threads.shutdown(wait=False, cancel_futures=True)

    async def _vetted_client(self, origin: _Origin) -> _Pinned:
        """A client that can only reach the vetted address behind `origin`."""
        try:
            async with asyncio.timeout(self._timeout):
                return await self._pinning.join(origin, functools.partial(self._pin, origin))
        except TimeoutError as error:
            raise TimedOut(f"no address within {self._timeout:g} s") from error

    async def _pin(self, origin: _Origin) -> _Pinned:
        address = await self._vetted(origin)
        loop = asyncio.get_running_loop()
        pinned = self._pinned.get(origin)
        if pinned and pinned.address == address:
            client, tunnel = pinned.client, pinned.tunnel  # with its connections
        else:
            through = None if inside(address, self._allowed) else self._tunnels
            if through and ":" in origin.host:  # the client takes it for an invalid name there
                raise ConnectFailed("proxy_error", "through a proxy, a URL needs a name instead of an IPv6 address")
            tunnel = await through.open(origin.host, origin.port, address) if through else None
            client = await loop.run_in_executor(self._threads, self._build, origin, address, tunnel)
            metrics.CLIENTS_BUILT.inc()
        if origin.identity:  # what its owner had before is not needed any more
            owner = origin.identity.owner
            for other in [pinned for pinned in self._pinned if pinned.identity and pinned.identity.owner == owner]:
                del self._pinned[other]
        if origin not in self._pinned and len(self._pinned) >= _CLIENTS:
            # Any one, not the least recently used: with more hosts than places in turn, that is always the next needed.
            del self._pinned[secrets.choice(list(self._pinned))]  # closed when its last request lets go of it
        pin = self._pinned[origin] = _Pinned(client, address, loop.time() + _ANSWER_HOLDS, tunnel)
        return pin

    async def _vetted(self, origin: _Origin) -> str:
        """The address to connect to: the first that has not failed, or has failed the longest ago. One bad answer among
        good ones refuses them all: they are tried in turn.
        """
        host = origin.host
        if literal(host):
            candidates = [host]
        else:
            try:
                async with asyncio.timeout(_LOOKUP_LIMIT):
                    candidates = await self._resolve(host, origin.port)
            except (OSError, TimeoutError, UnicodeError) as error:
                raise ConnectFailed("dns_error", f"{host}: {str(error) or 'no answer in time'}") from error
        if not candidates:
            raise ConnectFailed("dns_error", f"{host} has no address")
        for text in candidates:
            address = literal(text)
            reason = refusal(address, self._allowed) if address else f"{text} is not an address"
            if reason:
                raise ConnectFailed("blocked_address", f"{host}: {reason}" if host != text else reason)
        return min(candidates, key=lambda text: self._failed_at.get(text, 0.0))

    async def _look_up(self, host: str, port: int) -> list[str]:
        look_up = functools.partial(asyncio.get_running_loop().run_in_executor, self._threads, _addresses, host, port)
        return await self._looking_up.join((host, port), look_up)

    def _build(self, origin: _Origin, address: str, tunnel: Tunnel | None = None) -> Client:
        builder = (
            ClientBuilder()
            .no_proxy()
            .follow_redirects(False)
            .referer(False)
            .http1_only()
            .gzip(False)
            .brotli(False)
            .zstd(False)
            .deflate(False)
            .timeout(timedelta(seconds=self._timeout))
            .max_connections(None)
            .pool_max_idle_per_host(64)
            .pool_idle_timeout(IDLE)
            # The status counts. A user agent has to take a header in several lines (RFC 9112 section 5.2).
            .http1_allow_obsolete_multiline_headers_in_responses(True)
            .http1_allow_spaces_after_header_name_in_responses(True)
            .http1_ignore_invalid_headers_in_responses(True)
        )
        # A host that is not the pinned one would be looked up by the client itself: it is sent nowhere instead.
        if tunnel:  # it refuses every other host
            builder = builder.proxy(ProxyBuilder.all(tunnel.url).custom_http_auth(tunnel.authorization))
        else:
            builder = builder.proxy(ProxyBuilder.all(_NOWHERE).no_proxy(origin.host))
        if self._trusted_pem:
            builder = builder.add_root_certificate_pem(self._trusted_pem)
        if origin.identity:
            builder = builder.identity_pem(origin.identity.pem.encode())
        if not tunnel and not literal(origin.host):
            builder = builder.resolve(origin.host, address, origin.port)
        return builder.build()


def _addresses(host: str, port: int) -> list[str]:
    # As bytes, or Python would apply its own reading of international names, which is that of 2003.
    infos = socket.getaddrinfo(host.encode("ascii"), port, type=socket.SOCK_STREAM)
    return list(dict.fromkeys(str(address[0]) for *_, address in infos))


def _judged(allowed: Sequence[Network], url: str) -> tuple[str, _Origin]:
    """What is judged is what is connected to: the normal form, as the client reads it. Raises ConnectFailed."""
    try:
        parsed = Url(checked(url, allowed))
    except Invalid as error:
        raise ConnectFailed("blocked_address", error.detail) from error
    return str(parsed), _Origin(parsed.scheme, host_of(parsed), parsed.port_or_known_default or 0)
