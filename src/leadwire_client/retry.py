"""When to send again, and how long to wait first. Pure: it neither sends nor sleeps.

Sending again is safe because every change of `/v1` carries an Idempotency-Key, the same on each attempt. What carries
none is sent again only where it was refused for its rate.
"""

import logging
import math
import random
import time
from collections.abc import Callable
from typing import Final

import msgspec

from leadwire_client import errors
from leadwire_client.http_client import httpx

_STATUSES: Final = (429, 502, 503, 504)
_NEVER: Final = (httpx.UnsupportedProtocol, httpx.LocalProtocolError)  # our own fault: the same again next time

POLL: Final = 20
"""Seconds that a request of what goes on without end waits for news."""

_log = logging.getLogger("leadwire_client")


class Retry(msgspec.Struct, frozen=True, kw_only=True):
    """How stubborn one call is; all times in seconds. `Retry(attempts=1)` never retries.

    `deadline` bounds the whole call: no wait that would outlast it is begun, and the timeouts of an attempt are cut to
    what is left. Waits double from `first_wait` to `longest_wait`, and up to half of each is taken off at random, so
    that 60 seconds have 20 requests at most. A longer `Retry-After` is waited out. `attempts` bounds the requests, too.

    What follows without end has no deadline: it waits alike, is told to wait for `deadline` at most, and begins with
    `first_wait` again after a success. `attempts` bounds its failures in a row.
    """

    attempts: int | None = None
    deadline: float = 60.0
    first_wait: float = 0.5
    longest_wait: float = 8.0

    def __post_init__(self) -> None:
        least = 1 if self.attempts is None else self.attempts
        if least < 1 or self.deadline <= 0 or self.first_wait < 0 or self.longest_wait < 0:
            raise ValueError("Retry: attempts and deadline must be above 0, waits not below")


class Attempts:
    """The attempts of one call; with `endless`, until it succeeds; of one to be made `once`, while it is not begun."""

    def __init__(
        self, retry: Retry, clock: Callable[[], float] = time.monotonic, *, endless: bool = False, once: bool = False
    ) -> None:
        self._retry = retry
        self._clock = clock
        self._endless = endless
        self._once = once
        self._end = math.inf if endless else clock() + retry.deadline
        self._made = 0

    def timeout(self, longest: float, waits: float = 0.0) -> httpx.Timeout:
        """Seconds that the next attempt may take for each of connecting, writing and reading; for reading so many more
        as the server `waits`, because it was asked to.
        """
        left = max(0.001, self._end - self._clock())
        return httpx.Timeout(min(longest, left), read=min(longest + waits, left))

    def wait_after(self, outcome: httpx.Response | httpx.RequestError) -> float | None:
        """Seconds to wait before the next attempt; None when this outcome is the last."""
        self._made += 1
        told = 0.0
        if isinstance(outcome, httpx.RequestError):
            if self._once or isinstance(outcome, _NEVER):
                return None
        elif not self._passing(outcome):
            return None
        elif outcome.is_error:
            told = min(errors.of(outcome).retry_after or 0.0, self._retry.deadline if self._endless else math.inf)
        wait = max(self._backoff(), told and told + random.uniform(0, self._retry.first_wait))  # noqa: S311 - no secret
        if self._made == self._retry.attempts or self._clock() + wait >= self._end:
            return None
        if self._endless:
            _log.warning("%s; asking again in %.1f s", _words(outcome), wait)
        return wait

    def _passing(self, answer: httpx.Response) -> bool:
        if self._endless and (answer.is_server_error or _is_cut(answer)):
            return True
        return answer.is_error and (
            answer.status_code in ((429,) if self._once else _STATUSES)
            or errors.of(answer).code == "idempotency_in_progress"
        )

    def _backoff(self) -> float:
        grown = min(self._retry.longest_wait, self._retry.first_wait * 2 ** min(self._made - 1, 30))
        return random.uniform(grown / 2, grown)  # noqa: S311 - no secret


def _is_cut(answer: httpx.Response) -> bool:
    """Whether a good answer is not whole, or no JSON: a connection that ended where nothing told the length."""
    return answer.is_success and not answer.content.rstrip().endswith(b"}")


def _words(outcome: httpx.Response | httpx.RequestError) -> str:
    if isinstance(outcome, httpx.RequestError):
        return errors.words(outcome)
    return f"the answer is {outcome.status_code}" if outcome.is_error else "the answer is not whole"
