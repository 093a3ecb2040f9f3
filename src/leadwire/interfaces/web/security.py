"""What protects the web area in a browser: response headers, checks of where a request is from, the session cookie.

No inline script, no inline style, no eval: the content security policy is one constant and needs no nonce. Over https
the cookie's name binds it to this host (`__Host-`, RFC 6265bis section 4.1.3.2).
"""

import secrets
from collections.abc import Mapping
from typing import Any, Final, Literal

from litestar import Request, Response
from msgspec import Struct

from leadwire.infrastructure import settings
from leadwire.interfaces.http import client_network

CONTENT_SECURITY_POLICY: Final = (
    "default-src 'none'; "
    "script-src 'self'; "
    "style-src 'self'; "
    "img-src 'self' data:; "
    "connect-src 'self'; "
    "frame-src 'self'; "
    "form-action 'self'; "
    "frame-ancestors 'none'; "
    "base-uri 'none'; "
    "require-trusted-types-for 'script'; "
    "trusted-types ui"
)

_BOUND: Final = "__Host-"
_KNOWN: Final = 400 * 86_400  # seconds, the longest that browsers keep a cookie

HEADERS: Final[Mapping[str, str]] = {
    "Content-Security-Policy": CONTENT_SECURITY_POLICY,
    "Referrer-Policy": "same-origin",
    "Cross-Origin-Opener-Policy": "same-origin",
    "Cross-Origin-Resource-Policy": "same-origin",
    "Permissions-Policy": "camera=(), microphone=(), geolocation=()",
    "X-Frame-Options": "DENY",
}
_FRAMED: Final = CONTENT_SECURITY_POLICY.replace("frame-ancestors 'none'", "frame-ancestors 'self'")
# For the page of the trial chat, which screens of ours show in a frame; a bot's images are on any website.
FRAMED: Final[Mapping[str, str]] = {
    "Content-Security-Policy": _FRAMED.replace("img-src 'self' data:", "img-src 'self' data: https:"),
    "X-Frame-Options": "SAMEORIGIN",
}


def same_origin(headers: Mapping[str, str]) -> bool:
    """Return False when another site sent the request. Fetch Metadata first, Origin for older browsers."""
    if site := headers.get("sec-fetch-site"):
        return site in ("same-origin", "none")
    origin = headers.get("origin")
    return origin is None or origin.partition("://")[2] == headers.get("host")


def local(path: str) -> str:
    """Return `path` if it is a page of this site, else `/`: for `next=`, which anybody can write."""
    inside = path.startswith("/") and not path.startswith("//")
    return path if inside and path.isascii() and path.isprintable() and "\\" not in path else "/"


def public_url(request: "Request[Any, Any, Any]") -> str:
    """Return the address that people use for this site, without a trailing slash."""
    url = settings.get().public_url
    return url or f"{client_network.scheme(request.scope)}://{request.headers.get('host', 'localhost')}"


class Cookie(Struct, frozen=True):
    """What a browser keeps for us. `of` tells it from our others; one that is `strict` comes from no other site."""

    of: str
    same_site: Literal["lax", "strict"] = "lax"

    def read(self, request: "Request[Any, Any, Any]") -> str:
        """Return what the browser sent, else an empty string."""
        return request.cookies.get(self._name(request), "")

    def write(self, response: "Response[Any]", request: "Request[Any, Any, Any]", value: str, life: int = 0) -> None:
        """Have the browser keep a value for `life` seconds; without, it is deleted."""
        name = self._name(request)
        secure = name.startswith(_BOUND)
        response.set_cookie(name, value, max_age=life, path="/", httponly=True, samesite=self.same_site, secure=secure)

    def _name(self, request: "Request[Any, Any, Any]") -> str:
        return f"{_BOUND if public_url(request).startswith('https:') else ''}leadwire{self.of}"


SESSION: Final = Cookie("")
SIGN_ON: Final = Cookie("-sso")
"""What is kept of a single sign-on under way, until the browser comes back from another site."""
CHALLENGE: Final = Cookie("-passkey", "strict")
"""The ticket of the challenge that this browser was given for a passkey."""
BROWSER: Final = Cookie("-browser")
"""What this browser is known by: random, and the same until its cookies are deleted. It opens nothing."""


def browser_mark(request: "Request[Any, Any, Any]") -> str:
    """Return what this browser is known by from now on: what it says, if that can be ours. It is sent back."""
    mark: str = request.state.get("mark", BROWSER.read(request))
    if len(mark) != 22 or not mark.isascii():
        request.state["mark"] = mark = secrets.token_urlsafe(16)
    return mark


def set_browser_mark(response: "Response[Any]", request: "Request[Any, Any, Any]") -> None:
    """Have the browser keep what it is known by."""
    BROWSER.write(response, request, browser_mark(request), _KNOWN)
