"""The public keys of an endpoint, for `verify` instead of a secret: fetched, and kept.

keys = PublicKeys("https://leads.example.com/.well-known/leadwire/we_.../jwks.json")
event = verify(body, headers, keys.current())
"""

import asyncio
import base64
import math
import threading
import time
from typing import Final

import msgspec

from leadwire_client.errors import Unreachable
from leadwire_client.http_client import httpx

_KEPT: Final = 300.0  # seconds; the next key is published for longer before it signs
_PAUSE: Final = 10.0  # seconds until another try
_LONGEST: Final = 86_400.0  # seconds for which keys count that cannot be fetched again
_FAULTS: Final = (httpx.HTTPError, msgspec.MsgspecError, ValueError)


class _Key(msgspec.Struct):
    crv: str = ""
    x: str = ""


class _Set(msgspec.Struct):
    keys: list[_Key]


class _Known:
    def __init__(self, url: str, *, timeout: float = 10.0) -> None:
        self.url, self.timeout = url, timeout
        self._keys: list[str] = []
        self._fetched = self._next = -math.inf

    def _due(self) -> bool:
        return time.monotonic() >= self._next

    def _take(self, answer: httpx.Response) -> None:
        found = msgspec.json.decode(answer.raise_for_status().content, type=_Set).keys
        raw = [base64.urlsafe_b64decode(one.x + "=") for one in found if one.crv == "Ed25519"]
        self._keys = [f"whpk_{base64.b64encode(one).decode()}" for one in raw]
        self._fetched = time.monotonic()
        self._next = self._fetched + _KEPT

    def _fail(self, error: Exception) -> None:
        """Go on with what is known, unless the endpoint has no keys any more, or that is old."""
        self._next = time.monotonic() + _PAUSE
        gone = isinstance(error, httpx.HTTPStatusError) and error.response.status_code == httpx.codes.NOT_FOUND
        if gone or time.monotonic() > self._fetched + _LONGEST:
            self._keys = []

    def _present(self) -> list[str]:
        if not self._keys:
            raise Unreachable(f"{self.url} does not tell any key")
        return self._keys


class PublicKeys(_Known):
    """Those at an address, which has to be yours: each endpoint has its own. Safe to share between threads."""

    def __init__(self, url: str, *, timeout: float = 10.0) -> None:
        super().__init__(url, timeout=timeout)
        self._lock = threading.Lock()

    def current(self) -> list[str]:
        """The keys, fetched again after five minutes; while that fails, those that are known, for a day.

        Raises Unreachable when none is known: answer 500, and the event comes again.
        """
        with self._lock:
            if self._due():
                try:
                    self._take(httpx.get(self.url, timeout=self.timeout, follow_redirects=True))
                except _FAULTS as error:
                    self._fail(error)
            return self._present()


class AsyncPublicKeys(_Known):
    """`PublicKeys` with `await`."""

    def __init__(self, url: str, *, timeout: float = 10.0) -> None:
        super().__init__(url, timeout=timeout)
        self._lock = asyncio.Lock()

    async def current(self) -> list[str]:
        """As that of `PublicKeys`."""
        async with self._lock:
            if self._due():
                try:
                    async with httpx.AsyncClient(timeout=self.timeout, follow_redirects=True) as client:
                        self._take(await client.get(self.url))
                except _FAULTS as error:
                    self._fail(error)
            return self._present()
