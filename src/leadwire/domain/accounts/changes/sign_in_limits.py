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
_MOST: Final = {"account": PER_ACCOUNT, "address": 20, "/56": 40, "/48": 80}
_LIMITS: Final = {of: RateLimit(f"sign-in-{of.strip('/')}", most, window=_WINDOW) for of, most in _MOST.items()}


async def count(account: str, address: str) -> None:
    """Count one try from `address`, as `client_network.network` returns it. Raise RateLimited."""
    names = {"account": account, "address": address}
    if ":" in address:
        around = ipaddress.IPv6Network(address)
        names |= {f"/{length}": str(around.supernet(new_prefix=length)) for length in (56, 48)}
    refused = [of for of, name in names.items() if not await _LIMITS[of].take_at_once(name)]
    if refused:
        telemetry.log("sign_in.throttled", level=logging.WARNING, of=refused[0])
        raise RateLimited("Too many tries. Wait five minutes.", headers={"Retry-After": str(_WINDOW)})


async def forgive(account: str) -> None:
    """The password was right: the account's tries do not count any more."""
    await _LIMITS["account"].reset(account)
