"""Which addresses a webhook may reach: the check against SSRF. Pure; explicit lists, from the IANA registries of
special-purpose addresses.

`ipaddress.is_global` is not asked: it takes several spellings of 127.0.0.1 inside IPv6, multicast and others for
public. An IPv4 address inside an IPv6 one is judged as what it is.
"""

from collections.abc import Sequence
from ipaddress import IPv4Address, IPv4Network, IPv6Address, IPv6Network, ip_address, ip_network
from typing import Final

Address = IPv4Address | IPv6Address
Network = IPv4Network | IPv6Network

# https://www.iana.org/assignments/iana-ipv4-special-registry
_NOT_PUBLIC_4: Final = tuple(
    IPv4Network(text)
    for text in (
        "0.0.0.0/8",
        "10.0.0.0/8",
        "100.64.0.0/10",
        "127.0.0.0/8",
        "169.254.0.0/16",  # link-local, with the clouds' metadata services
        "172.16.0.0/12",
        "192.0.0.0/24",
        "192.0.2.0/24",
        "192.31.196.0/24",
        "192.52.193.0/24",
        "192.88.99.0/24",
        "192.168.0.0/16",
        "192.175.48.0/24",
        "198.18.0.0/15",
        "198.51.100.0/24",
        "203.0.113.0/24",
        "224.0.0.0/4",
        "240.0.0.0/4",  # with 255.255.255.255
    )
)
# https://www.iana.org/assignments/iana-ipv6-special-registry; only 2000::/3 is given out at all.
_UNICAST_6: Final = IPv6Network("2000::/3")
_NOT_PUBLIC_6: Final = tuple(
    IPv6Network(text)
    for text in (
        "2001::/23",  # protocol assignments, Teredo and ORCHID among them
        "2001:db8::/32",
        "2620:4f:8000::/48",
        "3ffe::/16",
        "3fff::/20",
    )
)
_NAT64: Final = IPv6Network("64:ff9b::/96")
_6TO4: Final = IPv6Network("2002::/16")
_ISATAP: Final = (0x0000_5EFE, 0x0200_5EFE)


def refusal(address: Address, allowed: Sequence[Network]) -> str | None:
    """Why `address` may not be reached, in words; None when it may. `allowed` are an operator's own networks."""
    if any(address.version == network.version and address in network for network in allowed):
        return None
    if isinstance(address, IPv6Address):
        if address.ipv4_mapped:
            return refusal(address.ipv4_mapped, allowed)
        return _refusal_6(address, allowed)
    return f"{address} is not a public address" if any(address in network for network in _NOT_PUBLIC_4) else None


def _refusal_6(address: IPv6Address, allowed: Sequence[Network]) -> str | None:
    if address.scope_id is not None:
        return f"{address} is bound to an interface"
    number = int(address)
    if address in _NAT64:
        return refusal(IPv4Address(number & 0xFFFF_FFFF), allowed)
    if address not in _UNICAST_6 or any(address in network for network in _NOT_PUBLIC_6):
        return f"{address} is not a public address"
    if address in _6TO4:
        return refusal(IPv4Address(number >> 80 & 0xFFFF_FFFF), allowed)
    if number >> 32 & 0xFFFF_FFFF in _ISATAP:
        return refusal(IPv4Address(number & 0xFFFF_FFFF), allowed)
    return None


def literal(host: str) -> Address | None:
    """The address that `host` spells in its one canonical way, without brackets; None for a name."""
    try:
        return ip_address(host)
    except ValueError:
        return None


def networks(texts: Sequence[str]) -> tuple[Network, ...]:
    """`127.0.0.0/8` and the like. Raises ValueError."""
    return tuple(ip_network(text, strict=False) for text in texts)
