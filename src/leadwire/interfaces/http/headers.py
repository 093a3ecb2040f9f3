"""Request headers, straight from the ASGI scope: making Litestar's mapping of them costs ten times a look-up."""

from litestar.types import HTTPScope, Scope


def header(scope: Scope | HTTPScope, name: bytes) -> str | None:
    """The value of a header, several lines of it as one list (RFC 9110 section 5.3); None when it is absent.

    `name` is in lower case.
    """
    values = [value for sent, value in scope["headers"] if sent == name]
    return b", ".join(values).decode("latin-1") if values else None
