"""Entity tags (RFC 9110 sections 8.8 and 13): strong, the version of the row."""

from typing import Any, TypeVar

from litestar import Request

from leadwire.interfaces.http.headers import header
from leadwire.interfaces.http.responses import JSONResponse

T = TypeVar("T")


def tagged(request: "Request[Any, Any, Any]", body: T, version: int) -> JSONResponse[T]:
    """`body` with its tag; or 304 and no body when the caller has it already."""
    tag = f'"{version}"'
    headers = [(b"etag", tag.encode())]
    known = header(request.scope, b"if-none-match")
    if known is not None and request.method in ("GET", "HEAD") and tag in _tags(known.replace("W/", ""), tag):
        return JSONResponse(None, status_code=304, headers=headers)  # type: ignore[arg-type]
    return JSONResponse(body, headers=headers)


def wanted(request: "Request[Any, Any, Any]") -> frozenset[int] | None:
    """The versions that `If-Match` accepts; None when it is absent or `*`.

    A weak tag, or what is no tag of ours, matches no version (strong comparison).
    """
    sent = header(request.scope, b"if-match")
    if sent is None or sent.strip() == "*":
        return None
    plain = (tag[1:-1] for tag in _tags(sent, "") if len(tag) > 2 and tag[0] == tag[-1] == '"')
    return frozenset(int(text) for text in plain if text.isascii() and text.isdigit() and len(text) < 10)


def _tags(sent: str, star: str) -> list[str]:
    return [star if tag.strip() == "*" else tag.strip() for tag in sent.split(",")]
