"""Sending calls and sleeping between them, blocking and for asyncio. When to send again is decided in `retry`."""

import asyncio
import time
from collections.abc import AsyncIterator, Iterator
from typing import TypeVar

import httpx

from leadwire import __version__
from leadwire.client.call import Call
from leadwire.client.retry import Attempts, Retry
from leadwire.client.walk import R, Walk

T = TypeVar("T")


class Connection:
    """To one server with one key."""

    def __init__(
        self, api_key: str, base_url: str, timeout: float, retry: Retry, transport: httpx.BaseTransport | None
    ) -> None:
        self._timeout = timeout
        self._retry = retry
        self._http = httpx.Client(base_url=base_url, headers=_headers(api_key), transport=transport)

    def close(self) -> None:
        """Close what is open to the server."""
        self._http.close()

    def run(self, call: Call[T]) -> T:
        """Send `call`, again where that may help, and answer what it came to."""
        attempts = Attempts(self._retry)
        while True:
            outcome = self._send(call, attempts.timeout(self._timeout))
            if (wait := attempts.wait_after(outcome)) is None:
                return call.result(outcome)
            time.sleep(wait)

    def walk(self, walk: Walk[R]) -> Iterator[R]:
        """The rows of every page."""
        while walk.call:
            yield from walk.rows(self.run(walk.call))

    def _send(self, call: Call[T], timeout: float) -> httpx.Response | httpx.RequestError:
        try:
            return self._http.request(timeout=timeout, **call.request())
        except httpx.RequestError as error:
            return error


class AsyncConnection:
    """`Connection`, to be awaited."""

    def __init__(
        self, api_key: str, base_url: str, timeout: float, retry: Retry, transport: httpx.AsyncBaseTransport | None
    ) -> None:
        self._timeout = timeout
        self._retry = retry
        self._http = httpx.AsyncClient(base_url=base_url, headers=_headers(api_key), transport=transport)

    async def close(self) -> None:
        """Close what is open to the server."""
        await self._http.aclose()

    async def run(self, call: Call[T]) -> T:
        """Send `call`, again where that may help, and answer what it came to."""
        attempts = Attempts(self._retry)
        while True:
            outcome = await self._send(call, attempts.timeout(self._timeout))
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
            return await self._http.request(timeout=timeout, **call.request())
        except httpx.RequestError as error:
            return error


def _headers(api_key: str) -> dict[str, str]:
    """What every request carries. Raises ValueError for what cannot be a key, such as one with its line's end."""
    if not (api_key and api_key.isascii() and api_key.isprintable() and " " not in api_key):
        raise ValueError("the API key is empty, or has spaces, line ends or characters other than ASCII")
    return {
        "Authorization": f"Bearer {api_key}",
        "Accept": "application/json",
        "User-Agent": f"leadwire-python/{__version__}",
    }
