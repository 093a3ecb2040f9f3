"""/schema: the OpenAPI 3.1 document of /v1, from which pages of /docs are made.

`ops/decisions/9-signatures.md` says why the document is not Litestar's.
"""

import functools
from collections.abc import Callable
from typing import Any

import msgspec
from litestar import Litestar, Request, Response
from litestar.handlers import HTTPRouteHandler

from leadwire.interfaces.http.routes import get
from leadwire.interfaces.v1.openapi.document import document as document


def route(describe: Callable[[Litestar], dict[str, Any]]) -> HTTPRouteHandler:
    """Return the handler that serves the document of an application."""

    @functools.cache
    def encoded(app: Litestar) -> bytes:
        return msgspec.json.encode(describe(app))

    @get("/schema")
    async def schema(request: Request[Any, Any, Any]) -> Response[bytes]:
        """Serve the OpenAPI document."""
        return Response(encoded(request.app), media_type="application/vnd.oai.openapi+json;version=3.1")

    return schema
