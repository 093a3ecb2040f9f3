"""Which URLs may be an endpoint, and which addresses a webhook may reach: the check against SSRF. Pure.

The addresses behind a name are checked at every connect. The lists are from the IANA registries of special-purpose
addresses. `ipaddress.is_global` is not asked: it takes several spellings of 127.0.0.1 inside IPv6, multicast and others
for public. An IPv4 address inside an IPv6 one is judged as what it is.
"""

import re
from collections.abc import Sequence
from ipaddress import IPv4Address, IPv4Network, IPv6Address, IPv6Network, ip_address, ip_network
from typing import Final
from urllib.parse import urlsplit

from pyreqwest.http import Url

from leadwire.infrastructure.errors import FieldError, Invalid

Address = IPv4Address | IPv6Address
Network = IPv4Network | IPv6Network

# https://www.iana.org/assignments/iana-ipv4-special-registry
_NOT_PUBLIC_4: Final = tuple(map(IPv4Network, (
    "0.0.0.0/8", "10.0.0.0/8", "100.64.0.0/10", "127.0.0.0/8",
    "168.63.129.16/32",  # public, and the host of every machine at Azure
    "169.254.0.0/16",  # link-local, with the clouds' metadata services
    "172.16.0.0/12", "192.0.0.0/24", "192.0.2.0/24", "192.31.196.0/24", "192.52.193.0/24", "192.88.99.0/24",
    "192.168.0.0/16", "192.175.48.0/24", "198.18.0.0/15", "198.51.100.0/24", "203.0.113.0/24", "224.0.0.0/4",
    "240.0.0.0/4",  # with 255.255.255.255
)))  # fmt: skip
# https://www.iana.org/assignments/iana-ipv6-special-registry; only 2000::/3 is given out at all.
_UNICAST_6: Final = IPv6Network("2000::/3")
_NOT_PUBLIC_6: Final = tuple(map(IPv6Network, (
    "2001::/23",  # protocol assignments, Teredo and ORCHID among them
    "2001:db8::/32", "2620:4f:8000::/48", "3ffe::/16", "3fff::/20",
)))  # fmt: skip
_NAT64: Final = IPv6Network("64:ff9b::/96")
_6TO4: Final = IPv6Network("2002::/16")
_ISATAP: Final = (0x0000_5EFE, 0x0200_5EFE)

_LONGEST: Final = 2048
_LABEL: Final = r"[a-z0-9_](?:[a-z0-9_-]{0,61}[a-z0-9])?"
_NAME: Final = re.compile(rf"(?=.{{1,253}}\Z)(?:{_LABEL}\.)*{_LABEL}")
# A last label that some URL parser reads as a number makes the host an IPv4 address: 127.1, 0x7f000001, 0177.0.0.1
_NUMBERISH: Final = re.compile(r"(?:.*\.)?(?:[0-9]+|0x[0-9a-f]*)", re.IGNORECASE)
_LOCAL_NAMES: Final = ("localhost", "local", "internal", "localdomain", "home.arpa", "lan", "intranet", "invalid")
# Ports where an HTTP request can do harm to something that is no web server.
_FORBIDDEN_PORTS: Final = frozenset(
    (1, 7, 9, 11, 13, 15, 17, 19, 20, 21, 22, 23, 25, 37, 42, 43, 53, 69, 77, 79, 87, 95, 101, 102, 103, 104, 109, 110,
     111, 113, 115, 117, 119, 123, 135, 137, 139, 143, 161, 179, 389, 427, 445, 465, 512, 513, 514, 515, 526, 530, 531,
     532, 540, 548, 554, 556, 563, 587, 601, 636, 989, 990, 993, 995, 1433, 1521, 1719, 1720, 1723, 2049, 2375, 2376,
     2379, 3306, 3389, 3659, 4045, 5060, 5061, 5432, 5900, 6000, 6379, 6566, 9200, 10080, 11211, 27017)
)  # fmt: skip


def refusal(address: Address, allowed: Sequence[Network]) -> str | None:
    """Why `address` may not be reached, in words; None when it may. `allowed` are an operator's own networks."""
    if _within(address, allowed):
        return None
    if isinstance(address, IPv6Address):
        if address.ipv4_mapped:
            return refusal(address.ipv4_mapped, allowed)
        return _refusal_6(address, allowed)
    return f"{address} is not a public address" if any(address in network for network in _NOT_PUBLIC_4) else None


def inside(text: str, networks: Sequence[Network]) -> bool:
    """Whether an address lies in one of the networks; an IPv4 one also when it is written as IPv6."""
    address = literal(text)
    mapped = address.ipv4_mapped if isinstance(address, IPv6Address) else None
    return address is not None and _within(mapped or address, networks)


def _within(address: Address, networks: Sequence[Network]) -> bool:
    return any(address.version == network.version and address in network for network in networks)


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


def checked(url: str, allowed: Sequence[Network]) -> str:
    """The URL in its one normal form.

    `allowed` are the operator's own networks: their addresses (and, for loopback, `localhost`) may be named, and may
    be spoken to in plain http. Raises Invalid, with what is wrong.
    """
    try:
        normal = _checked(url, allowed)
        ours, theirs = urlsplit(normal).hostname or "", host_of(Url(normal))
        if (literal(ours) or ours) != (literal(theirs) or theirs):
            raise ValueError("its host has more than one reading")
        return normal
    except ValueError as error:
        text = str(error)
        fault = FieldError("invalid_url", f"{text[:1].upper()}{text[1:]}.", "/url")
        raise Invalid(f"This URL cannot be used: {text}.", errors=(fault,)) from error


def _checked(url: str, allowed: Sequence[Network]) -> str:
    if len(url) > _LONGEST:
        raise ValueError(f"it is longer than {_LONGEST} characters")
    if not url.isascii() or any(character <= " " or character in '\\"<>^`{|}\x7f' for character in url):
        raise ValueError("it holds characters that must be percent-encoded (or, in the host, be written as punycode)")
    parts = urlsplit(url)
    scheme, host, port = parts.scheme, (parts.hostname or "").removesuffix("."), parts.port
    if scheme not in ("https", "http"):
        raise ValueError("it must begin with https://")
    if parts.username is not None or parts.password is not None:
        raise ValueError("it must not hold a user name or password")
    if "#" in url:
        raise ValueError("it must not have a fragment")
    if not host:
        raise ValueError("it has no host")
    if "%" in host:
        raise ValueError("its host is bound to an interface, or encoded")
    if port is not None and (port == 0 or port in _FORBIDDEN_PORTS):
        raise ValueError(f"port {port} is not for web servers")
    inside = _host_is_inside(host, allowed)
    if scheme == "http" and not inside:
        raise ValueError("it must begin with https://")
    netloc = f"[{literal(host)}]" if ":" in host else host
    default = {"https": 443, "http": 80}[scheme]
    return f"{scheme}://{netloc}{'' if port in (None, default) else f':{port}'}{parts.path or '/'}" + (
        f"?{parts.query}" if parts.query else ""
    )


def host_of(url: Url) -> str:
    """The host as the HTTP client looks it up: in ASCII, `xn--` labels as they are, without brackets."""
    return (url.host_str or "").removeprefix("[").removesuffix("]")


def _host_is_inside(host: str, allowed: Sequence[Network]) -> bool:
    """Whether the host lies in the operator's own networks. Raises ValueError when it may not be named at all."""
    address = literal(host)
    if address is not None:
        if reason := refusal(address, allowed):
            raise ValueError(reason)
        return refusal(address, ()) is not None
    if _NUMBERISH.fullmatch(host):
        raise ValueError("its host is an unusual spelling of an IP address")
    if not _NAME.fullmatch(host):
        raise ValueError("its host is not a name")
    if any(host == name or host.endswith(f".{name}") for name in _LOCAL_NAMES):
        loopback = literal("127.0.0.1")
        if host == "localhost" and loopback and refusal(loopback, allowed) is None:
            return True
        raise ValueError(f"{host} is a local name")
    if "." not in host:
        raise ValueError(f"{host} is a local name")
    return False
