"""What protects the web area in a browser: response headers, checks of where a request is from, the session cookie.

No inline script, no inline style, no eval: the content security policy is one constant and needs no nonce. Over https
the cookie's name binds it to this host (`__Host-`, RFC 6265bis section 4.1.3.2).
"""

import secrets
from collections.abc import Mapping
from typing import Any, Final, Literal

from litestar import Request, Response

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
    found = settings.get().public_url
    return found or f"{client_network.scheme(request.scope)}://{request.headers.get('host', 'localhost')}"


def session_token(request: "Request[Any, Any, Any]") -> str | None:
    """Return the session's token from the cookie, if the browser sent one."""
    return request.cookies.get(_cookie(request))


def set_session(response: "Response[Any]", request: "Request[Any, Any, Any]", token: str) -> None:
    """Have the browser keep a session's token; an empty one is deleted."""
    _set(response, request, "", token, settings.get().session_life if token else 0)


def browser_mark(request: "Request[Any, Any, Any]") -> str:
    """Return what this browser is known by: random, and the same until its cookies are deleted. It opens nothing."""
    known: str = request.cookies.get(_cookie(request, "-browser")) or request.state.get("mark", "")
    if not known:
        request.state["mark"] = known = secrets.token_urlsafe(16)
    return known


def set_browser_mark(response: "Response[Any]", request: "Request[Any, Any, Any]") -> None:
    """Have the browser keep what it is known by."""
    _set(response, request, "-browser", browser_mark(request), _KNOWN)


def flow(request: "Request[Any, Any, Any]") -> str | None:
    """Return what the browser keeps of a single sign-on under way."""
    return request.cookies.get(_cookie(request, "-sso"))


def set_flow(response: "Response[Any]", request: "Request[Any, Any, Any]", text: str, life: int = 0) -> None:
    """Have the browser keep that for `life` seconds. Not `strict`: it comes back from another site."""
    _set(response, request, "-sso", text, life)


def challenge(request: "Request[Any, Any, Any]") -> str:
    """Return the ticket of the challenge that this browser was given for a passkey, else an empty string."""
    return request.cookies.get(_cookie(request, "-passkey"), "")


def set_challenge(response: "Response[Any]", request: "Request[Any, Any, Any]", ticket: str, life: int) -> None:
    """Have the browser keep the ticket of a challenge for `life` seconds."""
    _set(response, request, "-passkey", ticket, life, "strict")


def _cookie(request: "Request[Any, Any, Any]", of: str = "") -> str:
    return f"{'__Host-' if _encrypted(request) else ''}leadwire{of}"


def _set(
    response: "Response[Any]", request: "Request[Any, Any, Any]", of: str, value: str, life: int,
    same_site: Literal["lax", "strict"] = "lax",
) -> None:  # fmt: skip
    name, secure = _cookie(request, of), _encrypted(request)
    response.set_cookie(name, value, max_age=life, path="/", httponly=True, samesite=same_site, secure=secure)


def _encrypted(request: "Request[Any, Any, Any]") -> bool:
    return public_url(request).startswith("https:")
