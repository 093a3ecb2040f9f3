"""What a browser is told about every page, and which requests are not from a page of ours. Pure.

No inline script, no inline style, no eval: the policy is one constant, needs no nonce, and pages stay cacheable.
"""

from collections.abc import Mapping
from typing import Final

CONTENT_SECURITY_POLICY: Final = (
    "default-src 'none'; "
    "script-src 'self'; "
    "style-src 'self'; "
    "img-src 'self' data:; "
    "connect-src 'self'; "
    "form-action 'self'; "
    "frame-ancestors 'none'; "
    "base-uri 'none'; "
    "require-trusted-types-for 'script'; "
    "trusted-types ui"
)

HEADERS: Final[Mapping[str, str]] = {
    "Content-Security-Policy": CONTENT_SECURITY_POLICY,
    "Referrer-Policy": "same-origin",
    "Cross-Origin-Opener-Policy": "same-origin",
    "Cross-Origin-Resource-Policy": "same-origin",
    "Permissions-Policy": "camera=(), microphone=(), geolocation=()",
    "X-Frame-Options": "DENY",
}


def same_origin(headers: Mapping[str, str]) -> bool:
    """False when the browser says that another site sent this. Fetch Metadata first, Origin for older browsers."""
    if site := headers.get("sec-fetch-site"):
        return site in ("same-origin", "none")
    origin = headers.get("origin")
    return origin is None or origin.partition("://")[2] == headers.get("host")


def local(path: str) -> str:
    """`path` if it leads to a page of ours, else the first page: for `next=`, which anybody can write."""
    inside = path.startswith("/") and not path.startswith("//")
    return path if inside and path.isascii() and path.isprintable() and "\\" not in path else "/"
