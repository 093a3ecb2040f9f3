"""Responses as JSON: one resource, one with its version, a page of a list."""

import zlib
from collections.abc import Mapping, Sequence
from typing import Annotated, Any, Final, Generic, TypeVar
from urllib.parse import quote_plus, urlencode

import msgspec
from litestar import Request, Response
from litestar.types import ASGIApp, Receive, Scope, Send
from msgspec import UNSET, Meta, Struct, UnsetType

from leadwire.domain.listing.cursors import FIRST
from leadwire.infrastructure import cpu_work, settings
from leadwire.interfaces.http import requests

T = TypeVar("T")
Headers = Sequence[tuple[bytes, bytes]]

JSON: Final = b"application/json"
GZIP: Final = 16 + zlib.MAX_WBITS
_LEVEL: Final = 1  # level 6 takes three times as long for a tenth less
_WORTH: Final = 2048  # bytes of a body: a smaller one fits into a packet or two
_AT_ONCE: Final = 65_536  # bytes that are compressed without leaving the event loop
_encode = msgspec.json.Encoder().encode


class PageMeta(Struct, frozen=True):
    """Where a page is in its list."""

    total: int
    """All that match, not only those on this page. Exact; by cursor, as it was on the first page."""
    page: int
    """The number of this page, from 1."""
    per_page: int
    """The most that a page holds: the `limit` of the request."""
    next_cursor: str | UnsetType | None = UNSET
    """The `cursor` of the next page, null on the last one. Only where the request has a `cursor`."""
    complete: bool | UnsetType = UNSET
    """False while older rows are not yet found by their words, after an upgrade or an import. Only where the request
    has a `q`."""


class Single(Struct, Generic[T], frozen=True):
    """One resource."""

    data: T
    """The resource."""


class Page(Struct, Generic[T], frozen=True):
    """A page of a list."""

    data: list[T]
    """The resources on this page; none past the last page."""
    meta: PageMeta
    """Where this page is in the list."""


class FeedMeta(Struct, frozen=True):
    """Where to read on."""

    next_cursor: Annotated[str, Meta(min_length=1)]
    """The `cursor` of the page that follows, now or later."""
    has_more: bool
    """Whether more is there already."""
    held_back_since: str | None
    """When the first event was recorded that is there and not shown yet, because an earlier one is not committed.
    `null` where everything is shown."""


class Feed(Struct, Generic[T], frozen=True):
    """A page of what goes on and on."""

    data: list[T]
    """The resources on this page, in their order."""
    meta: FeedMeta
    """Where to read on."""


class Tagged(Struct, Generic[T], frozen=True):
    """One resource and its version: sent as a `Single` with an `ETag`."""

    data: T
    version: int


class JSONResponse(Response[T]):
    """A struct as JSON, with its headers; or, of None, headers alone.

    Litestar's own response copies its headers four times on the way out, and costs as much as all the rest of the
    router (`python -m ops.bench.replaced`). This one is the ASGI application that Litestar asks a response for.
    """

    def __init__(  # not Litestar's: it keeps fifteen attributes that nobody here sets
        self, content: T, *, status_code: int = 200, headers: Headers = (), kind: bytes = JSON, **_: Any
    ) -> None:
        self.content = content
        self.status_code = status_code
        self._headers = headers
        self._kind = kind

    def to_asgi_response(self, *_: Any, **__: Any) -> ASGIApp:  # type: ignore[override]
        return self

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:  # noqa: ARG002 - ASGI's
        """Send it; to HEAD, without the body (RFC 9110 section 9.3.2)."""
        body = b""
        headers: list[tuple[bytes, bytes]] = [*self._headers]
        if self.content is not None:
            body = _encode(self.content)
            if len(body) >= _WORTH and _compressible(scope, headers):
                headers.append((b"vary", b"accept-encoding"))
                if requests.takes_gzip(scope):
                    body = await _compressed(body)
                    headers.append((b"content-encoding", b"gzip"))
            headers += ((b"content-type", self._kind), (b"content-length", b"%d" % len(body)))
            if scope["method"] == "HEAD":  # type: ignore[typeddict-item]
                body = b""
        start: Any = {"type": "http.response.start", "status": self.status_code, "headers": headers}
        await send(start)
        await send({"type": "http.response.body", "body": body, "more_body": False})


def _compressible(scope: Scope, headers: Headers) -> bool:
    """Whether a response may be compressed: of /v1, which has neither cookies nor form tokens that somebody could guess
    by its size (BREACH), and without an entity tag, which is strong.
    """
    read = scope["method"] in ("GET", "HEAD")  # type: ignore[typeddict-item]
    return read and scope["path"].startswith("/v1/") and not any(name == b"etag" for name, _ in headers)


async def _compressed(body: bytes) -> bytes:
    if len(body) <= _AT_ONCE:
        return zlib.compress(body, _LEVEL, wbits=GZIP)
    return await cpu_work.run(zlib.compress, body, _LEVEL, wbits=GZIP)


def tagged(request: "Request[Any, Any, Any]", resource: Tagged[T]) -> JSONResponse[Single[T] | None]:
    """Return a resource with its `ETag`; 304 without a body when the caller has this version (RFC 9110 section 13)."""
    tag = f'"{resource.version}"'
    headers = [(b"etag", tag.encode())]
    wanted = requests.header(request.scope, b"if-none-match")
    if wanted is not None and request.method in ("GET", "HEAD"):
        tags = [part.strip() for part in wanted.replace("W/", "").split(",")]
        if tag in tags or "*" in tags:
            return JSONResponse(None, status_code=304, headers=headers)
    return JSONResponse(Single(resource.data), headers=headers)


def page(request: "Request[Any, Any, Any]", page: Page[T]) -> JSONResponse[Page[T]]:
    """Return a page with the `Link` header that leads through its list."""
    if (cursor := page.meta.next_cursor) is UNSET:
        return _linked(request, page, "page", _by_number(page.meta))
    return _linked(request, page, "cursor", _by_cursor(cursor))


def feed(request: "Request[Any, Any, Any]", feed: Feed[T]) -> JSONResponse[Feed[T]]:
    """The same; without `next` where nothing more is there yet."""
    return _linked(request, feed, "cursor", _by_cursor(feed.meta.next_cursor if feed.meta.has_more else None))


def _linked(request: "Request[Any, Any, Any]", page: T, name: str, leads: Mapping[str, Any]) -> JSONResponse[T]:
    """Return a page with a `Link` header: first, prev, next and last where they exist (RFC 8288); by cursor, first and
    next. `name`: the parameter that tells them apart.
    """
    pairs = requests.pairs_of(request.scope["query_string"])
    kept = urlencode([pair for pair in pairs if pair[0] != name])  # once: it is dearer than all the rest
    begin = f"<{settings.get().public_url}{request.scope['path']}?{kept}{'&' if kept else ''}{name}="
    header = ", ".join(f'{begin}{value}>; rel="{rel}"' for rel, value in leads.items())
    return JSONResponse(page, headers=[(b"link", header.encode())])


def _by_cursor(following: str | None) -> dict[str, str]:
    return {"first": FIRST} | ({"next": quote_plus(following)} if following else {})


def _by_number(meta: PageMeta) -> dict[str, Any]:
    last = max(1, -(-meta.total // meta.per_page))
    pages = {"first": 1}
    if meta.page > 1:
        pages["prev"] = min(meta.page - 1, last)
    if meta.page < last:
        pages["next"] = meta.page + 1
    return pages | {"last": last}
