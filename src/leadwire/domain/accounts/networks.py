"""Allow-lists: the networks from which an API key, or a workspace's web area, may be used. Empty: from any. Pure."""

import functools
import re
from collections.abc import Iterable, Sequence
from ipaddress import ip_network
from typing import Final

from leadwire.delivery.transport import addresses
from leadwire.infrastructure.errors import FieldError, Invalid

_MOST: Final = 50
_BETWEEN: Final = re.compile(r"[\s,;]+")
_parsed: Final = functools.lru_cache(1024)(addresses.networks)


def split(text: str) -> list[str]:
    """What is in a field of a form: networks between spaces, commas or line ends."""
    return [part for part in _BETWEEN.split(text) if part]


def checked(texts: Iterable[str]) -> list[str]:
    """Networks and addresses in their normal form, each once. Raise Invalid, naming each that is none."""
    networks, faults = dict[str, None](), []
    for text in texts:
        try:
            networks[str(ip_network(text))] = None
        except ValueError:
            message = (
                f"{text[:50]} is not an address or network, such as 203.0.113.7, 198.51.100.0/24 or 2001:db8::/32."
            )
            faults.append(FieldError("invalid_network", message, "/networks"))
    if len(networks) > _MOST:
        faults.append(FieldError("too_many", f"At most {_MOST} networks.", "/networks"))
    if faults:
        raise Invalid(faults[0].message, errors=tuple(faults))
    return list(networks)


def allow(address: str, networks: Sequence[str]) -> bool:
    """Whether networks as `checked` returned them have an address; without any, every address."""
    return not networks or addresses.inside(address, _parsed(tuple(networks)))


def overlap(seen: str, networks: Sequence[str]) -> bool:
    """The same for an address of which perhaps the network alone is known (see `client_network.network`)."""
    if not networks:
        return True
    try:
        around = ip_network(seen)
    except ValueError:  # unknown
        return False
    return any(around.version == network.version and around.overlaps(network) for network in _parsed(tuple(networks)))
