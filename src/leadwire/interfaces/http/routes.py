"""Routing decorators with our defaults: whatever answers GET answers HEAD (RFC 9110 section 9.1)."""

import functools

from litestar import HttpMethod, route
from litestar.handlers import HTTPRouteHandler

from leadwire.interfaces.http.responses import JSONResponse

get = functools.partial(route, http_method=[HttpMethod.GET, HttpMethod.HEAD])


def options(path: str, *methods: HttpMethod) -> HTTPRouteHandler:
    """An answer to OPTIONS that names `methods`: Litestar's own names only those of the first handler of a path."""
    allowed = ", ".join(sorted([*methods, HttpMethod.OPTIONS])).encode()

    @route(path, http_method=[HttpMethod.OPTIONS], status_code=204)
    async def answer() -> JSONResponse[None]:
        return JSONResponse(None, status_code=204, headers=[(b"allow", allowed)])

    return answer
