"""Which URLs may be an endpoint. Pure: the addresses behind a name are vetted at every connect, not here."""

import re
from collections.abc import Sequence
from typing import Final
from urllib.parse import urlsplit

from pyreqwest.http import Url

from leadwire.delivery.transport.addresses import Network, literal, refusal
from leadwire.infrastructure.errors import FieldError, Invalid

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
    shown = f"[{literal(host)}]" if ":" in host else host
    default = {"https": 443, "http": 80}[scheme]
    return f"{scheme}://{shown}{'' if port in (None, default) else f':{port}'}{parts.path or '/'}" + (
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
