"""Routing decorators with our defaults: whatever answers GET answers HEAD (RFC 9110 section 9.1)."""

import functools

from litestar import HttpMethod, route

get = functools.partial(route, http_method=[HttpMethod.GET, HttpMethod.HEAD])
