"""Sending calls and sleeping between them, blocking and for asyncio. When to send again is decided in `retry`."""

import asyncio
import time
from collections.abc import AsyncIterator, Iterator
from typing import TypeVar

import httpx
from msgspec import Struct

from leadwire import __version__
from leadwire.client.call import Call
from leadwire.client.retry import Attempts, Retry
from leadwire.client.walk import R, Walk

T = TypeVar("T")


class Connection(Struct, frozen=True):
    """To one server with one key."""

    http: httpx.Client
    timeout: float
    retry: Retry

    def run(self, call: Call[T]) -> T:
        """Send `call`, again where that may help, and return its result."""
        attempts = Attempts(self.retry)
        while True:
            outcome = self._send(call, attempts.timeout(self.timeout))
            if (wait := attempts.wait_after(outcome)) is None:
                return call.result(outcome)
            time.sleep(wait)

    def walk(self, walk: Walk[R]) -> Iterator[R]:
        """The rows of every page."""
        while walk.call:
            yield from walk.rows(self.run(walk.call))

    def _send(self, call: Call[T], timeout: float) -> httpx.Response | httpx.RequestError:
        try:
            return self.http.request(timeout=timeout, **call.request())
        except httpx.RequestError as error:
            return error


class AsyncConnection(Struct, frozen=True):
    """`Connection`, to be awaited."""

    http: httpx.AsyncClient
    timeout: float
    retry: Retry

    async def run(self, call: Call[T]) -> T:
        """Send `call`, again where that may help, and return its result."""
        attempts = Attempts(self.retry)
        while True:
            outcome = await self._send(call, attempts.timeout(self.timeout))
            if (wait := attempts.wait_after(outcome)) is None:
                return call.result(outcome)
            await asyncio.sleep(wait)

    async def walk(self, walk: Walk[R]) -> AsyncIterator[R]:
        """The rows of every page."""
        while walk.call:
            for row in walk.rows(await self.run(walk.call)):
                yield row

    async def _send(self, call: Call[T], timeout: float) -> httpx.Response | httpx.RequestError:  # noqa: ASYNC109
        try:
            return await self.http.request(timeout=timeout, **call.request())
        except httpx.RequestError as error:
            return error


def headers(api_key: str) -> dict[str, str]:
    """What every request carries. Raise ValueError for what cannot be a key, such as one with its line's end."""
    if not (api_key and api_key.isascii() and api_key.isprintable() and " " not in api_key):
        raise ValueError("the API key is empty, or has spaces, line ends or characters other than ASCII")
    agent = f"leadwire-python/{__version__}"
    return {"Authorization": f"Bearer {api_key}", "Accept": "application/json", "User-Agent": agent}
