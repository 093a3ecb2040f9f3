"""How often a password or code may be tried.

Who holds something already (a known browser, a session, a ticket, a one-time link) has 5 tries in 5 minutes of their
own, which nobody else can use up. Strangers have 20 tries in 5 minutes from one address, of which 5 in 15 minutes at
one account from one network, and all strangers together 100 an hour at one account.

An IPv6 address is its /64. Whoever has one often has the whole /56 or /48 around it, so these are counted as well.
"""

import ipaddress
import logging
from typing import Final

from leadwire.infrastructure import telemetry
from leadwire.infrastructure.errors import RateLimited
from leadwire.infrastructure.rate_limit import RateLimit

PER_HOLDER: Final = 5
PER_NETWORK: Final = 5
PER_ACCOUNT: Final = 100

_MOST: Final = {  # tries, in seconds
    "holder": (PER_HOLDER, 300), "address": (20, 300), "/56": (40, 300), "/48": (80, 300),
    "network": (PER_NETWORK, 900), "account": (PER_ACCOUNT, 3600),
}  # fmt: skip
_LIMITS: Final = {
    of: RateLimit(f"sign-in-{of.strip('/')}", most, window=window) for of, (most, window) in _MOST.items()
}
_REFUSAL: Final = (
    "Too many tries. Wait a few minutes, or use a passkey or a browser in which you have signed in before."
)


async def count(holder: str) -> None:
    """Count one try of who holds what `holder` names. Raise RateLimited."""
    await _take("holder", holder)


async def forgive(holder: str) -> None:
    """The try was right: earlier ones do not count any more."""
    await _LIMITS["holder"].reset(holder)


async def count_stranger(account: str, address: str) -> None:
    """Count one try at an account from `address`, as `client_network.network` returns it. Raise RateLimited.

    What one limit refuses is not counted by those after it: a single network cannot use up an account's tries.
    """
    await _take("address", address)
    for length in (56, 48) if ":" in address else ():
        await _take(f"/{length}", _around(address, length))
    await _take("network", f"{account} {_network(address)}")
    await _take("account", account)


async def forgive_stranger(account: str, address: str) -> None:
    """The password was right: what was tried from this network at the account does not count any more."""
    await _LIMITS["network"].reset(f"{account} {_network(address)}")


async def _take(of: str, name: str) -> None:
    if not await _LIMITS[of].take_at_once(name):
        telemetry.log("sign_in.throttled", level=logging.WARNING, of=of)
        most, window = _MOST[of]
        raise RateLimited(_REFUSAL, headers={"Retry-After": str(window // most)})


def _network(address: str) -> str:
    """What one customer of a provider has: a /24 of IPv4, a /48 of IPv6."""
    return address if address == "unknown" else _around(address, 48 if ":" in address else 24)


def _around(address: str, length: int) -> str:
    return str(ipaddress.ip_network(address).supernet(new_prefix=length))
