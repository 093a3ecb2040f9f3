"""The client as its users meet it."""

from typing import Final, Self

import httpx

from leadwire_client.bots import Bots
from leadwire_client.connection import AsyncConnection, Connection
from leadwire_client.conversations import Conversations
from leadwire_client.exports import Exports
from leadwire_client.feed import Events
from leadwire_client.leads import Leads
from leadwire_client.me import OwnKey
from leadwire_client.retry import Retry

__version__: Final = "0.1.0"


class Leadwire:
    """The API. Safe to share between threads; close it, or use it as a context manager.

    `base_url` is the address before `/v1`. `timeout` is in seconds, for each of connecting, writing and reading.
    `transport` replaces httpx's own, for proxies, certificates and tests.
    Methods raise ApiError (see `errors`), Unreachable and Unreadable, all of them LeadwireError.
    """

    def __init__(
        self,
        api_key: str,
        base_url: str,
        *,
        timeout: float = 30.0,
        retry: Retry = Retry(),  # noqa: B008 - frozen
        transport: httpx.BaseTransport | None = None,
    ) -> None:
        self._http = httpx.Client(base_url=base_url, headers=headers(api_key), transport=transport)
        connection = Connection(self._http, timeout, retry)
        self.leads = Leads(connection)
        self.conversations = Conversations(connection)
        self.bots = Bots(connection)
        self.events = Events(connection)
        self.exports = Exports(connection)
        self.me = OwnKey(connection)

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        self.close()

    def close(self) -> None:
        """Close the connections."""
        self._http.close()


class AsyncLeadwire:
    """`Leadwire` with `await`, and `async for` over `list`."""

    def __init__(
        self,
        api_key: str,
        base_url: str,
        *,
        timeout: float = 30.0,
        retry: Retry = Retry(),  # noqa: B008 - frozen
        transport: httpx.AsyncBaseTransport | None = None,
    ) -> None:
        self._http = httpx.AsyncClient(base_url=base_url, headers=headers(api_key), transport=transport)
        connection = AsyncConnection(self._http, timeout, retry)
        self.leads = Leads(connection)
        self.conversations = Conversations(connection)
        self.bots = Bots(connection)
        self.events = Events(connection)
        self.exports = Exports(connection)
        self.me = OwnKey(connection)

    async def __aenter__(self) -> Self:
        return self

    async def __aexit__(self, *_: object) -> None:
        await self.close()

    async def close(self) -> None:
        """Close the connections."""
        await self._http.aclose()


def headers(api_key: str) -> dict[str, str]:
    """What every request carries. Raise ValueError for what cannot be a key: one with its line's end."""
    if not (api_key and api_key.isascii() and api_key.isprintable() and " " not in api_key):
        raise ValueError("the API key or token is empty, or has spaces, line ends or characters other than ASCII")
    agent = f"leadwire-python/{__version__}"
    return {"Authorization": f"Bearer {api_key}", "Accept": "application/json", "User-Agent": agent}
