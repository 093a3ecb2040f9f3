"""Versions of the API that end: each response says since when, until when, and what to use instead.

    Router("/v0", middleware=[ending(since, until, "/docs/changelog", "/v1")], ...)

`/v1` does not end.
"""

from datetime import datetime
from email.utils import format_datetime

from litestar.types import ASGIApp, Middleware, Receive, Scope, Send

from leadwire.infrastructure import settings
from leadwire.interfaces.http.middleware import ADDED


def ending(since: datetime, until: datetime, explained: str, successor: str) -> Middleware:
    """Return the middleware of a version that is deprecated since one time (RFC 9745) and served until another (RFC
    8594). `explained` and `successor` are paths of this site. Raise ValueError unless it ends later.
    """
    if not since < until:
        raise ValueError("a version ends after its deprecation")
    plain = [
        (b"deprecation", b"@%d" % since.timestamp()),
        (b"sunset", format_datetime(until, usegmt=True).encode()),
    ]

    def wrap(app: ASGIApp) -> ASGIApp:
        async def marked(scope: Scope, receive: Receive, send: Send) -> None:
            site = settings.get().public_url
            link = f'<{site}{explained}>; rel="deprecation", <{site}{successor}>; rel="successor-version"'
            scope["state"][ADDED].extend([*plain, (b"link", link.encode())])
            await app(scope, receive, send)

        return marked

    return wrap
