"""How often a password may be tried: 5 times in 5 minutes for one account, 20 times from one address.

An IPv6 address is its /64. Whoever has one often has the whole /56 or /48 around it, so these are counted as well.

Counted in Redis for all processes together, before the password is looked at, so that many at once do not slip
through; while Redis is away, each process counts by itself.
"""

import hashlib
import hmac
import ipaddress
import logging
from collections import Counter
from typing import Final

from leadwire.infrastructure import clock, redis_pool, secret_box, telemetry
from leadwire.infrastructure.errors import RateLimited

PER_ACCOUNT: Final = 5
PER_ADDRESS: Final = 20
PER_NETWORK: Final = {56: 40, 48: 80}
"""By the length of an IPv6 prefix."""
WINDOW: Final = 300  # seconds

_LARGEST: Final = 10_000
_counted: Counter[str] = Counter()  # of the present window, while Redis is away
_window: list[int] = [0]


async def count(account: str, address: str) -> None:
    """Count one try from `address`, as `callers.network` tells it. Raises RateLimited."""
    limits = {"account": (account, PER_ACCOUNT), "address": (address, PER_ADDRESS)}
    if ":" in address:
        around = ipaddress.IPv6Network(address)
        for length, most in PER_NETWORK.items():
            limits[f"/{length}"] = str(around.supernet(new_prefix=length)), most
    used = {kind: await _count(_key(kind, name)) for kind, (name, _) in limits.items()}
    if over := next((kind for kind, (_, most) in limits.items() if used[kind] > most), None):
        telemetry.log("sign_in.throttled", level=logging.WARNING, of=over)
        raise RateLimited("Too many tries. Wait five minutes.", headers={"Retry-After": str(WINDOW)})


async def take(kind: str, name: str, most: int, told: str) -> None:
    """Count one deed of this kind by or to `name`; of these there may be `most` in `WINDOW`. Raises RateLimited."""
    if await _count(_key(kind, name)) > most:
        raise RateLimited(told, headers={"Retry-After": str(WINDOW)})


async def forgive(account: str) -> None:
    """The password was right: the account's tries do not count any more."""
    key = _key("account", account)
    _counted.pop(key, None)
    if (redis := redis_pool.client()) is not None:
        try:
            await redis.delete(key)
        except redis_pool.AWAY:
            return


async def _count(key: str) -> int:
    if (redis := redis_pool.client()) is not None:
        try:
            async with redis.pipeline() as together:
                together.incr(key)
                together.expire(key, WINDOW, nx=True)
                used, _ = await together.execute()
        except redis_pool.AWAY:
            return _count_here(key)
        return int(used)
    return _count_here(key)


def _count_here(key: str) -> int:
    window = int(clock.now().timestamp()) // WINDOW
    if window != _window[0] or len(_counted) > _LARGEST:
        _window[0] = window
        _counted.clear()
    _counted[key] += 1
    return _counted[key]


def _key(kind: str, name: str) -> str:
    """A keyed hash of the e-mail or network address: a plain hash of either can be guessed by whoever reads Redis."""
    key = secret_box.get().derived("sign-in throttle")
    return f"leadwire:throttle:{kind}:{hmac.digest(key, name.encode(), hashlib.sha256).hex()[:32]}"
