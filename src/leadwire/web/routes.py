"""Routing decorators with our defaults: whatever answers GET answers HEAD (RFC 9110 section 9.1)."""

import functools

from litestar import HttpMethod, Response, route
from litestar.handlers import HTTPRouteHandler

get = functools.partial(route, http_method=[HttpMethod.GET, HttpMethod.HEAD])


def options(path: str, *methods: HttpMethod) -> HTTPRouteHandler:
    """An answer to OPTIONS that names `methods`: Litestar's own names only those of the first handler of a path."""
    allowed = ", ".join(sorted([*methods, HttpMethod.OPTIONS]))

    @route(path, http_method=[HttpMethod.OPTIONS], status_code=204)
    async def answer() -> Response[None]:
        return Response(None, status_code=204, headers={"Allow": allowed})

    return answer
