"""How often a password or code may be tried: 5 times in 5 minutes for one account, 20 times from one address.

An IPv6 address is its /64. Whoever has one often has the whole /56 or /48 around it, so these are counted as well.
"""

import ipaddress
import logging
from typing import Final

from leadwire.infrastructure import telemetry
from leadwire.infrastructure.errors import RateLimited
from leadwire.infrastructure.rate_limit import RateLimit

PER_ACCOUNT: Final = 5
_WINDOW: Final = 300  # seconds
_ACCOUNT: Final = RateLimit("sign-in-account", PER_ACCOUNT, window=_WINDOW)
_ADDRESS: Final = RateLimit("sign-in-address", 20, window=_WINDOW)
_NETWORKS: Final = {
    length: RateLimit(f"sign-in-{length}", most, window=_WINDOW) for length, most in {56: 40, 48: 80}.items()
}
"""By the length of an IPv6 prefix."""


async def count(account: str, address: str) -> None:
    """Count one try from `address`, as `client_network.network` returns it. Raise RateLimited."""
    limits = {"account": (_ACCOUNT, account), "address": (_ADDRESS, address)}
    if ":" in address:
        around = ipaddress.IPv6Network(address)
        for length, limit in _NETWORKS.items():
            limits[f"/{length}"] = limit, str(around.supernet(new_prefix=length))
    refused = [kind for kind, (limit, name) in limits.items() if not await limit.take_at_once(name)]
    if refused:
        telemetry.log("sign_in.throttled", level=logging.WARNING, of=refused[0])
        raise RateLimited("Too many tries. Wait five minutes.", headers={"Retry-After": str(_WINDOW)})


async def forgive(account: str) -> None:
    """The password was right: the account's tries do not count any more."""
    await _ACCOUNT.reset(account)
