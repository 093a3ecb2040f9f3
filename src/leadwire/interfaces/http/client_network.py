"""Where a request comes from, and how. `X-Forwarded-For` and `X-Forwarded-Proto` count only from proxies that the
operator has named.
"""

import contextlib
import ipaddress
import time
from typing import Final

from litestar.types import HTTPScope, Scope

from leadwire.infrastructure import redis_pool, settings, telemetry
from leadwire.interfaces.http import NOT_TRUSTED
from leadwire.interfaces.http.requests import header

Address = ipaddress.IPv4Address | ipaddress.IPv6Address

_UNKNOWN: Final = "unknown"
_REPORT_EVERY: Final = 3600.0  # seconds
_KEPT: Final = 86_400  # seconds
_reported: list[float] = []


def network(scope: Scope | HTTPScope) -> str:
    """Return the caller's network: an IPv4 address, or the /64 of an IPv6 one."""
    if (address := _caller(scope)) is None:
        return _UNKNOWN
    return str(ipaddress.ip_network(f"{address}/64", strict=False)) if address.version == 6 else str(address)


def address(scope: Scope | HTTPScope) -> str:
    """Return the caller's whole address, or `unknown`: for lists of who may come in."""
    return str(_caller(scope) or _UNKNOWN)


def scheme(scope: Scope | HTTPScope) -> str:
    """Return `http` or `https`, as the caller speaks it with us or with a proxy before us."""
    if header(scope, b"x-forwarded-proto") == "https" and _trusted(_peer(scope)):
        return "https"
    return scope["scheme"]


def _caller(scope: Scope | HTTPScope) -> Address | None:
    """`X-Forwarded-For` counts only as far as it was written by trusted proxies: from the right, up to the first
    address that is none of theirs.
    """
    address = _peer(scope)
    if not (forwarded := header(scope, b"x-forwarded-for")):
        return address
    if address and address.is_private and not _trusted(address):
        _report()
    for hop in reversed(forwarded.split(",")):
        if not _trusted(address) or (further := _address(hop.strip())) is None:
            break
        address = further
    return address


def _peer(scope: Scope | HTTPScope) -> Address | None:
    """The address at the other end of the connection."""
    return _address(scope["client"][0]) if scope["client"] else None


def _report() -> None:
    """Note a proxy on a private network that the operator has not named: `doctor` reads the note from Redis."""
    now = time.monotonic()
    if _reported and now - _reported[0] < _REPORT_EVERY:
        return
    _reported[:] = [now]
    telemetry.warn("proxy.not_trusted")
    redis_pool.run_in_background(_keep())


async def _keep() -> None:
    if (redis := redis_pool.client()) is not None:
        with contextlib.suppress(*redis_pool.AWAY):
            await redis.set(NOT_TRUSTED, b"", ex=_KEPT)


def _trusted(address: Address | None) -> bool:
    return address is not None and any(address in network for network in settings.get().trusted_proxies)


def _address(text: str) -> Address | None:
    try:
        ip = ipaddress.ip_address(text.split("%", maxsplit=1)[0])
    except ValueError:
        return None
    return ip.ipv4_mapped or ip if isinstance(ip, ipaddress.IPv6Address) else ip
