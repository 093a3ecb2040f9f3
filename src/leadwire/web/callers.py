"""From which network a request comes; what proxies say counts only where the operator has named them."""

import ipaddress
from collections.abc import Sequence

from litestar.types import HTTPScope, Scope

from leadwire import settings
from leadwire.settings import Network
from leadwire.web.headers import header


def network(scope: Scope | HTTPScope) -> str:
    """The caller's network (see `behind`)."""
    peer, _ = scope["client"] or ("", 0)
    return behind(peer, header(scope, b"x-forwarded-for") or "", settings.get().trusted_proxies)


def behind(peer: str, forwarded: str, trusted: Sequence[Network]) -> str:
    """The network a request came from: an IPv4 address, or the /64 of an IPv6 one. Pure.

    `X-Forwarded-For` counts only as far as it was written by trusted proxies: from the right, up to the first address
    that is none of theirs.
    """
    address = _address(peer)
    for hop in reversed(forwarded.split(",")):
        if address is None or not any(address in proxies for proxies in trusted):
            break
        if (further := _address(hop.strip())) is None:
            break
        address = further
    if address is None:
        return "unknown"
    return str(ipaddress.ip_network(f"{address}/64", strict=False)) if address.version == 6 else str(address)


def _address(text: str) -> ipaddress.IPv4Address | ipaddress.IPv6Address | None:
    try:
        found = ipaddress.ip_address(text.split("%", maxsplit=1)[0])
    except ValueError:
        return None
    return found.ipv4_mapped or found if isinstance(found, ipaddress.IPv6Address) else found
