"""Rate limits: a token bucket per caller, in this process, settled with the other processes through Redis.

Asking Redis for every request would cost half a request. So each process takes tokens from a bucket of its own and,
about once a second per caller, tells Redis what it took and learns what is left for all. Where a limit must hold at
once, as for passwords, Redis is asked each time. Without Redis every process limits by itself.
"""

import asyncio
import hashlib
import hmac
import math
from collections import OrderedDict
from pathlib import Path
from typing import Final

import msgspec

from leadwire.infrastructure import redis_pool, secret_box
from leadwire.infrastructure.errors import RateLimited

BURST: Final = 200
"""Requests at once, where the limit allows as many."""
_SETTLE_EVERY: Final = 1.0
_CALLERS: Final = 50_000  # buckets kept; the one unused for longest goes first and would be full again anyway

_SETTLE: Final = Path(__file__).with_suffix(".lua").read_text(encoding="utf-8")


class Bucket(msgspec.Struct):
    """Tokens of one caller: filled at `rate` a second up to `burst`, last `at` a time, `settled` with Redis at one."""

    tokens: float
    at: float
    settled: float
    spent: int = 0

    def take(self, now: float, rate: float, burst: float) -> bool:
        if now > self.at:  # a request that waited for its key may come with an older time than the last one
            self.tokens = min(burst, self.tokens + (now - self.at) * rate)
            self.at = now
        if self.tokens < 1:
            return False
        self.tokens -= 1
        self.spent += 1
        return True


class RateLimit:
    """One policy: `limit` requests in `window` seconds for each caller; 0 = off. `shared` settles it between
    processes.
    """

    def __init__(self, name: str, limit: int, *, window: int = 60, shared: bool = False) -> None:
        self.limit = limit
        self._name = name
        self._shared = shared
        self._window = window
        self._rate = limit / window
        self._burst = float(min(limit, BURST))
        self._buckets: OrderedDict[str, Bucket] = OrderedDict()
        # The bucket is what `RateLimit` tells of: a policy of its own where it holds less than the limit.
        self._bucket_policy = name if limit <= BURST else "burst"
        self.policy = f'"{name}";q={limit};w={window}'
        if limit > BURST:
            self.policy += f', "burst";q={BURST};w={math.ceil(BURST / self._rate)}'

    def take(self, caller: str, now: float) -> list[tuple[bytes, bytes]]:
        """Count one request of `caller`; `now` is the loop's time. Return the headers to send.

        Raise RateLimited, with the same headers and `Retry-After`.
        """
        if not self.limit:
            return []
        bucket = self._bucket(caller, now)
        taken = bucket.take(now, self._rate, self._burst)
        if self._shared and (span := now - bucket.settled) > _SETTLE_EVERY:
            spent, bucket.spent, bucket.settled = bucket.spent, 0, now
            redis_pool.run_in_background(self._settle(caller, bucket, spent, span, now))
        left = max(0, int(bucket.tokens))
        more_in = max(1, math.ceil((left + 1 - bucket.tokens) / self._rate))
        state = f'"{self._bucket_policy}";r={left};t={more_in}'
        if not taken:
            headers = {"Retry-After": str(more_in), "RateLimit-Policy": self.policy, "RateLimit": state}
            raise RateLimited(f"At most {self.limit} requests a minute.", headers=headers)
        return [(b"ratelimit-policy", self.policy.encode()), (b"ratelimit", state.encode())]

    def charge(self, caller: str, requests: int) -> None:
        """Count so many requests more, which an answer was worth; a burst is the most that a caller can owe."""
        if self.limit and (bucket := self._buckets.get(caller)):
            owed = min(requests, int(bucket.tokens + self._burst))
            bucket.tokens -= owed
            bucket.spent += owed

    async def take_at_once(self, name: str) -> bool:
        """Count one try of `name`, in all processes together, so that many at once do not slip through. Return whether
        there was a token left. Redis gets a keyed hash of `name`.
        """
        caller = _hidden(name)
        if (left := await self._ask_redis(caller, 1, 0, "now")) is not None:
            return left >= 0
        now = asyncio.get_running_loop().time()
        return self._bucket(caller, now).take(now, self._rate, self._burst)

    async def claim(self, name: str, refusal: str) -> None:
        """Count one try of `name` at once. Raise RateLimited, with these words, when there was no token left."""
        if not await self.take_at_once(name):
            raise RateLimited(refusal, headers={"Retry-After": str(self._window)})

    async def reset(self, name: str) -> None:
        """Let `name` have every token again."""
        caller = _hidden(name)
        self._buckets.pop(caller, None)
        if (redis := redis_pool.client()) is not None:
            try:
                await redis.delete(self._key(caller))
            except redis_pool.AWAY:
                return

    def _bucket(self, caller: str, now: float) -> Bucket:
        bucket = self._buckets.get(caller)
        if bucket is None:
            bucket = self._buckets[caller] = Bucket(self._burst, now, now)
            if len(self._buckets) > _CALLERS:
                self._buckets.popitem(last=False)
        else:
            self._buckets.move_to_end(caller)
        return bucket

    async def _settle(self, caller: str, bucket: Bucket, spent: int, span: float, asked_at: float) -> None:
        if (left := await self._ask_redis(caller, spent, span)) is None:
            return
        since = (bucket.at - asked_at) * self._rate  # what came in while Redis was asked, as `spent` is what went out
        bucket.tokens = min(bucket.tokens, left + since - bucket.spent)

    async def _ask_redis(self, caller: str, spent: int, span: float, mode: str = "") -> float | None:
        """Take `spent` tokens from the shared bucket. Return what is left, or None when Redis is away."""
        if (redis := redis_pool.client()) is None:
            return None
        values = (spent, self._burst, self._rate, span, 2 * self._window, mode)
        try:
            return float(await redis.eval(_SETTLE, 1, self._key(caller), *map(str, values)))
        except redis_pool.AWAY:
            return None

    def _key(self, caller: str) -> str:
        return f"leadwire:rate:{self._name}:{caller}"


def _hidden(name: str) -> str:
    """A keyed hash of an e-mail or network address: a plain hash of either can be guessed by whoever reads Redis."""
    return hmac.digest(secret_box.get().derived("sign-in throttle"), name.encode(), hashlib.sha256).hex()[:32]
