"""CORS for the widget: per bot, the websites its owner has named, and ours. Litestar's own is one list for the app."""

import asyncio
from typing import Final
from urllib.parse import urlsplit

from litestar.middleware import ASGIMiddleware
from litestar.types import ASGIApp, Receive, Scope, Send

from leadwire.domain.bots import reads
from leadwire.infrastructure import settings
from leadwire.infrastructure.errors import Forbidden, RateLimited
from leadwire.infrastructure.rate_limit import RateLimit
from leadwire.interfaces.http import client_network
from leadwire.interfaces.http.middleware import ADDED

# A minute and network, of any kind; an office shares one. By each process alone: Redis holds no addresses.
_CALLS: Final = RateLimit("widget", 600, shared=False)
_ALLOWED: Final = (
    (b"access-control-allow-methods", b"GET, POST"),
    (b"access-control-allow-headers", b"authorization, content-type, last-event-id"),
    (b"access-control-max-age", b"7200"),  # seconds, the longest that Chromium keeps
)
_EXPOSED: Final = (b"access-control-expose-headers", b"retry-after, etag, x-request-id")


class Origins(ASGIMiddleware):
    """Refuses a browser on a website that may not show the bot. No `Origin`, no browser: nothing to refuse.

    No cookies are ever used here, so no credentials are allowed. Before anything is looked up, the request counts for
    its network's limit.
    """

    async def handle(self, scope: Scope, receive: Receive, send: Send, next_app: ASGIApp) -> None:
        headers = dict(scope["headers"])
        added = scope["state"][ADDED]
        added.append((b"vary", b"Origin"))
        origin = headers.get(b"origin")
        try:
            _CALLS.take(client_network.network(scope), asyncio.get_running_loop().time())
        except RateLimited:
            if origin is not None:  # whoever it is: a widget has to see when to come back, and there is nothing else
                added += [(b"access-control-allow-origin", origin), _EXPOSED]
            raise
        if origin is not None:
            named = scope["path_params"]
            allowed = await reads.origins(named.get("bot_id") or named.get("conversation_id", ""))
            if "*" not in allowed and origin.decode("latin-1").lower() not in (*allowed, _ours()):
                raise Forbidden("This website may not show this bot.", code="origin_not_allowed")
            added += [(b"access-control-allow-origin", origin), _EXPOSED]
            if scope["method"] == "OPTIONS":  # type: ignore[typeddict-item]
                added.extend(_ALLOWED)
        await next_app(scope, receive, send)


def _ours() -> str:
    """The origin that the operator has named as ours; never what a request calls us, which anybody can choose."""
    parts = urlsplit(settings.get().public_url.lower())
    return f"{parts.scheme}://{parts.netloc}"
