"""CORS for the widget: per bot, the websites its owner has named, and ours. Litestar's own is one list for the app."""

from typing import Final

from litestar.middleware import ASGIMiddleware
from litestar.types import ASGIApp, Receive, Scope, Send

from leadwire.bots import reads
from leadwire.errors import InsufficientScope
from leadwire.web.edge import ADDED

_MAX_AGE: Final = b"7200"  # seconds, the longest that Chromium keeps
_ALLOWED: Final = (
    (b"access-control-allow-methods", b"GET, POST"),
    (b"access-control-allow-headers", b"authorization, content-type, last-event-id"),
    (b"access-control-max-age", _MAX_AGE),
)


class Origins(ASGIMiddleware):
    """Refuses a browser on a website that may not show the bot. No `Origin`, no browser: nothing to refuse.

    No cookies are ever used here, so no credentials are allowed.
    """

    async def handle(self, scope: Scope, receive: Receive, send: Send, next_app: ASGIApp) -> None:
        headers = dict(scope["headers"])
        added = scope["state"][ADDED]
        added.append((b"vary", b"Origin"))
        origin = headers.get(b"origin")
        if origin is not None:
            ours = origin.partition(b"://")[2] == headers.get(b"host")
            named = scope["path_params"]
            bot = named.get("bot_id") or await reads.bot_of(named.get("conversation_id", ""))
            allowed = await reads.origins(bot) if bot else []
            if not ours and "*" not in allowed and origin.decode("latin-1").lower() not in allowed:
                raise InsufficientScope("This website may not show this bot.", code="origin_not_allowed")
            added.append((b"access-control-allow-origin", origin))
            added.append((b"access-control-expose-headers", b"retry-after, etag, x-request-id"))
            if scope["method"] == "OPTIONS":  # type: ignore[typeddict-item]
                added.extend(_ALLOWED)
        await next_app(scope, receive, send)
