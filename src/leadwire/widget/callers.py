"""From which network a request comes, and what of it is kept."""

import functools
from typing import Any

from litestar import Request

from leadwire import settings
from leadwire.widget import visitor
from leadwire.wire import keyring


def network(request: "Request[Any, Any, Any]") -> str:
    """The caller's network; what proxies say counts only where the operator has named them."""
    peer = request.scope["client"] or ("", 0)
    return visitor.network(peer[0], request.headers.get("x-forwarded-for", ""), settings.get().trusted_proxies)


def blinded(workspace: str, seen: str) -> bytes:
    """What is kept of a network: a keyed hash, to block by."""
    return visitor.blind(workspace, seen, _key())


@functools.cache
def _key() -> bytes:
    return keyring.get().derived("visitors' networks")
