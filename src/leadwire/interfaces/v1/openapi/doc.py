"""What a handler says of itself."""

from collections.abc import Mapping
from typing import Any

import msgspec


class Doc(msgspec.Struct, frozen=True):
    """What a handler says of itself beyond its signature, its method and its path."""

    summary: str
    description: str = ""
    query: type[msgspec.Struct] | None = None
    body: type[msgspec.Struct] | None = None
    example: Mapping[str, Any] | None = None
    """A body, where there is one."""
    conflicts: Mapping[str, str] = msgspec.field(default_factory=dict)
    """Codes of 409 that are its own, and what each means."""
    etag: bool = False
    """The answer or the request is about one version: `ETag`, `If-None-Match`, `If-Match`."""
    headers: tuple[str, ...] = ()
    """Headers of the good answer that are its own."""
    links: Mapping[str, Mapping[str, str]] = msgspec.field(default_factory=dict)
    """Where the answer leads: operation -> its path parameter -> a runtime expression into the answer."""
