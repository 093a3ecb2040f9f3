"""The session cookie. Over https its name binds it to this host (`__Host-`, RFC 6265bis section 4.1.3.2)."""

from typing import Any

from litestar import Request, Response

from leadwire.infrastructure import settings
from leadwire.interfaces.web.page_context import encrypted


def token(request: "Request[Any, Any, Any]") -> str | None:
    """What the browser brought along, if anything."""
    return request.cookies.get(_name(request))


def give(response: "Response[Any]", request: "Request[Any, Any, Any]", value: str) -> None:
    """Have the browser keep a new session's token."""
    response.set_cookie(
        _name(request), value, max_age=settings.get().session_life, path="/", httponly=True, samesite="lax",
        secure=encrypted(request),
    )  # fmt: skip


def take(response: "Response[Any]", request: "Request[Any, Any, Any]") -> None:
    """Have the browser forget it."""
    response.set_cookie(
        _name(request), "", max_age=0, path="/", httponly=True, samesite="lax", secure=encrypted(request)
    )


def _name(request: "Request[Any, Any, Any]") -> str:
    return "__Host-leadwire" if encrypted(request) else "leadwire"
