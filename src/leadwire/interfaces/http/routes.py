"""Routing decorators with our defaults: what serves GET serves HEAD, too (RFC 9110 section 9.1)."""

import functools

from litestar import HttpMethod, route
from litestar.handlers import HTTPRouteHandler

from leadwire.interfaces.http.responses import JSONResponse

get = functools.partial(route, http_method=[HttpMethod.GET, HttpMethod.HEAD])


def options(path: str, *methods: HttpMethod) -> HTTPRouteHandler:
    """Return a handler of OPTIONS that names `methods`: Litestar's names only those of the first handler of a path."""
    allowed = ", ".join(sorted([*methods, HttpMethod.OPTIONS])).encode()

    @route(path, http_method=[HttpMethod.OPTIONS], status_code=204)
    async def allowed_methods() -> JSONResponse[None]:
        return JSONResponse(None, status_code=204, headers=[(b"allow", allowed)])

    return allowed_methods
