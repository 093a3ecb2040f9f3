"""What every handler of /v1 answers with, and the two halves every list handler shares."""

from collections.abc import Sequence
from typing import Any, Final, TypeVar

import msgspec
from litestar import Request, Response
from litestar.types import ASGIApp, Receive, Scope, Send

from leadwire.domain.listing import page_query
from leadwire.interfaces.http import query as queries
from leadwire.interfaces.http.envelopes import Page, PageMeta

T = TypeVar("T")
Q = TypeVar("Q", bound=page_query.PageQuery)
Headers = Sequence[tuple[bytes, bytes]]

JSON: Final = b"application/json"
_encode = msgspec.json.Encoder().encode


class JSONResponse(Response[T]):
    """A Struct as JSON, with its headers; or, of None, headers alone.

    Litestar's own response copies its headers four times on the way out, at a fifth of the cost of a request. This one
    is the ASGI application that Litestar asks a response for.
    """

    def __init__(  # not Litestar's: it keeps fifteen attributes that nobody here sets
        self, content: T, *, status_code: int = 200, headers: Headers = (), kind: bytes = JSON, **_: Any
    ) -> None:
        self.content = content
        self.status_code = status_code
        self._headers = headers
        self._kind = kind

    def to_asgi_response(self, *_: Any, **__: Any) -> ASGIApp:  # type: ignore[override]
        """Itself: there is nothing to add."""
        return self

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:  # noqa: ARG002 - ASGI's
        """Send it; to HEAD, without the body (RFC 9110 section 9.3.2)."""
        body = b""
        headers: list[tuple[bytes, bytes]] = [*self._headers]
        if self.content is not None:
            body = _encode(self.content)
            headers += ((b"content-type", self._kind), (b"content-length", b"%d" % len(body)))
            if scope["method"] == "HEAD":  # type: ignore[typeddict-item]
                body = b""
        start: Any = {"type": "http.response.start", "status": self.status_code, "headers": headers}
        await send(start)
        await send({"type": "http.response.body", "body": body, "more_body": False})


def query(request: "Request[Any, Any, Any]", model: type[Q]) -> tuple[list[tuple[str, str]], Q]:
    """The query as sent and as understood. Raises InvalidParameter."""
    pairs = queries.pairs_of(request.scope["query_string"])
    return pairs, queries.parse(pairs, model)


def page(
    request: "Request[Any, Any, Any]",
    pairs: list[tuple[str, str]],
    asked: page_query.PageQuery,
    data: list[T],
    total: int,
) -> JSONResponse[Page[T]]:
    """A page in its envelope, with the links that lead on."""
    links = page_query.links(request.scope["path"], pairs, asked, total)
    return JSONResponse(Page(data, PageMeta(total, asked.page, asked.limit)), headers=[(b"link", links.encode())])
