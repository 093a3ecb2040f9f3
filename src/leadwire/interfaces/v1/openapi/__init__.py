"""/schema: the OpenAPI 3.1 document of /v1, from which pages of /docs are made.

`ops/decisions/9-signatures.md` says why the document is not Litestar's.
"""

import functools
from collections.abc import Callable, Mapping
from typing import Any

import msgspec
from litestar import Litestar, Request, Response
from litestar.handlers import HTTPRouteHandler

from leadwire.interfaces.http.routes import get
from leadwire.interfaces.v1.openapi.document import document

Describe = Callable[[Litestar], dict[str, Any]]
"""Returns the document of an application. It is made once."""


def describing(events: Mapping[str, type[msgspec.Struct]], samples: Mapping[str, Mapping[str, Any]]) -> Describe:
    """Return what describes an application that has these events."""

    @functools.cache
    def describe(app: Litestar) -> dict[str, Any]:
        return document(app, events, samples)

    return describe


def route(describe: Describe) -> HTTPRouteHandler:
    """Return the handler that serves the document."""

    @functools.cache
    def encoded(app: Litestar) -> bytes:
        return msgspec.json.encode(describe(app))

    @get("/schema")
    async def schema(request: Request[Any, Any, Any]) -> Response[bytes]:
        """Serve the OpenAPI document."""
        return Response(encoded(request.app), media_type="application/vnd.oai.openapi+json;version=3.1")

    return schema
