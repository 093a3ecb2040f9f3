"""When to send again, and how long to wait first. Pure: it neither sends nor sleeps.

Sending again is safe because every change carries an Idempotency-Key, the same on each attempt.
"""

import random
import time
from collections.abc import Callable
from typing import Final

import msgspec

from leadwire_client import errors
from leadwire_client.http_client import httpx

_STATUSES: Final = (429, 502, 503, 504)
_NEVER: Final = (httpx.UnsupportedProtocol, httpx.LocalProtocolError)  # our own fault: the same again next time


class Retry(msgspec.Struct, frozen=True, kw_only=True):
    """How stubborn one call is; all times in seconds. `Retry(attempts=1)` never retries.

    `attempts` bounds the requests, `deadline` the whole call: no wait that would outlast it is begun, and the
    timeouts of an attempt are cut to what is left. Waits grow from at most `first_wait` to at most `longest_wait`
    at random (full jitter); a `Retry-After` is waited out instead.
    """

    attempts: int = 4
    deadline: float = 60.0
    first_wait: float = 0.5
    longest_wait: float = 8.0

    def __post_init__(self) -> None:
        if self.attempts < 1 or self.deadline <= 0 or self.first_wait < 0 or self.longest_wait < 0:
            raise ValueError("Retry: attempts and deadline must be above 0, waits not below")


class Attempts:
    """The attempts of one call."""

    def __init__(self, retry: Retry, clock: Callable[[], float] = time.monotonic) -> None:
        self._retry = retry
        self._clock = clock
        self._end = clock() + retry.deadline
        self._made = 0

    def timeout(self, longest: float) -> float:
        """Seconds that the next attempt may take for each of connecting, writing and reading."""
        return max(0.001, min(longest, self._end - self._clock()))

    def wait_after(self, outcome: httpx.Response | httpx.RequestError) -> float | None:
        """Seconds to wait before the next attempt; None when this outcome is the last."""
        self._made += 1
        if self._made >= self._retry.attempts:
            return None
        if isinstance(outcome, httpx.RequestError):
            if isinstance(outcome, _NEVER):
                return None
            wait = self._backoff()
        elif outcome.is_error and _passing(error := errors.of(outcome)):
            told = error.retry_after
            wait = self._backoff() if told is None else told + random.uniform(0, self._retry.first_wait)  # noqa: S311
        else:
            return None
        return wait if self._clock() + wait < self._end else None

    def _backoff(self) -> float:
        grown = self._retry.first_wait * 2 ** min(self._made - 1, 30)
        return random.uniform(0, min(self._retry.longest_wait, grown))  # noqa: S311 - no secret


def _passing(error: errors.ApiError) -> bool:
    return error.status in _STATUSES or error.code == "idempotency_in_progress"
