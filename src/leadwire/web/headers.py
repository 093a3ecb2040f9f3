"""Request headers, straight from the ASGI scope: making Litestar's mapping of them costs ten times a look-up."""

from typing import Any

from litestar import Request


def header(request: "Request[Any, Any, Any]", name: bytes) -> str | None:
    """The value of a header, several lines of it as one list (RFC 9110 section 5.3); None when it is absent.

    `name` is in lower case.
    """
    values = [value for sent, value in request.scope["headers"] if sent == name]
    return b", ".join(values).decode("latin-1") if values else None
