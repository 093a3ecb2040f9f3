"""/schema and /docs: the OpenAPI 3.1 document of /v1, and the page that is made from it.

`ops/decisions/9-signatures.md` says why the document is not Litestar's.
"""

import functools
from collections.abc import Mapping
from pathlib import Path
from typing import Any, Final

import msgspec
from litestar import Litestar, Request, Response
from litestar.handlers import HTTPRouteHandler

from leadwire.interfaces.http.routes import get
from leadwire.interfaces.v1.openapi.document import document
from leadwire.interfaces.v1.openapi.page import page

_CSS: Final = Path(__file__).with_name("docs.css")
_POLICY: Final = {
    "Content-Security-Policy": "default-src 'none'; style-src 'self'; img-src 'self'; base-uri 'none'; "
    "form-action 'none'; frame-ancestors 'none'",
    "Referrer-Policy": "no-referrer",
}


def routes(
    events: Mapping[str, type[msgspec.Struct]], samples: Mapping[str, Mapping[str, Any]]
) -> list[HTTPRouteHandler]:
    """Return the handlers of one application. The document and the page are made once, on the first request."""

    @functools.cache
    def made(app: Litestar) -> tuple[bytes, bytes]:
        described = document(app, events, samples)
        return msgspec.json.encode(described), page(described).encode()

    @get("/schema")
    async def schema(request: Request[Any, Any, Any]) -> Response[bytes]:
        """Serve the OpenAPI document."""
        return Response(made(request.app)[0], media_type="application/vnd.oai.openapi+json;version=3.1")

    @get("/docs")
    async def docs(request: Request[Any, Any, Any]) -> Response[bytes]:
        """Serve the document as a page."""
        return Response(made(request.app)[1], media_type="text/html", headers=_POLICY)

    @get("/docs.css")
    async def style() -> Response[bytes]:
        """Serve the style of the page."""
        return Response(_CSS.read_bytes(), media_type="text/css")

    return [schema, docs, style]
