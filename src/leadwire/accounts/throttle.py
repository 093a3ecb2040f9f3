"""How often a password may be tried: 5 times in 5 minutes for one account, 20 times from one address.

Counted in Redis for all processes together, before the password is looked at, so that many at once do not slip
through; while Redis is away, each process counts by itself.
"""

import hashlib
import hmac
import logging
from collections import Counter
from typing import Final

from leadwire import clock, redis_pool, telemetry
from leadwire.errors import RateLimited
from leadwire.wire import keyring

PER_ACCOUNT: Final = 5
PER_ADDRESS: Final = 20
WINDOW: Final = 300  # seconds

_LARGEST: Final = 10_000
_counted: Counter[str] = Counter()  # of the present window, while Redis is away
_window: list[int] = [0]


async def count(account: str, address: str) -> None:
    """Count one try. Raises RateLimited."""
    used = await _count(_key("account", account)), await _count(_key("address", address))
    if used[0] > PER_ACCOUNT or used[1] > PER_ADDRESS:
        telemetry.log("sign_in.throttled", level=logging.WARNING, of="account" if used[0] > PER_ACCOUNT else "address")
        raise RateLimited("Too many tries. Wait five minutes.", headers={"Retry-After": str(WINDOW)})


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
    key = keyring.get().derived("sign-in throttle")
    return f"leadwire:sign-in:{kind}:{hmac.digest(key, name.encode(), hashlib.sha256).hex()[:32]}"
