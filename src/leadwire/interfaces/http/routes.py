"""Routing decorators with our defaults: what serves GET serves HEAD, too (RFC 9110 section 9.1)."""

import functools

from litestar import HttpMethod, route
from litestar.handlers import HTTPRouteHandler

from leadwire.interfaces.http.responses import JSONResponse

get = functools.partial(route, http_method=[HttpMethod.GET, HttpMethod.HEAD])
post = functools.partial(route, http_method=HttpMethod.POST, status_code=200)


def options(*handlers: HTTPRouteHandler) -> list[HTTPRouteHandler]:
    """Return a handler of OPTIONS for each path. Litestar's names only the methods of the first handler of a path."""
    methods: dict[str, set[str]] = {}
    for handler in handlers:
        for path in handler.paths:
            methods.setdefault(path, {HttpMethod.OPTIONS}).update(handler.http_methods)
    return [_options(path, ", ".join(sorted(allowed))) for path, allowed in methods.items()]


def _options(path: str, allowed: str) -> HTTPRouteHandler:
    @route(path, http_method=[HttpMethod.OPTIONS], status_code=204)
    async def allowed_methods() -> JSONResponse[None]:
        return JSONResponse(None, status_code=204, headers=[(b"allow", allowed.encode())])

    return allowed_methods
