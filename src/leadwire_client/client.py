"""The client as its users meet it."""

from typing import Final, Generic

from leadwire_client.bots import Bots, OwnKey
from leadwire_client.connection import AsyncClosing, AsyncConnection, C, Closing, Connection
from leadwire_client.conversations import Conversations
from leadwire_client.exports import Exports
from leadwire_client.feed import Events
from leadwire_client.http_client import httpx
from leadwire_client.leads import Leads
from leadwire_client.retry import Retry

__version__: Final = "0.1.0"


class _Resources(Generic[C]):
    def __init__(self, connection: C) -> None:
        self.leads: Leads[C] = Leads(connection)
        self.conversations: Conversations[C] = Conversations(connection)
        self.bots: Bots[C] = Bots(connection)
        self.events: Events[C] = Events(connection)
        self.exports: Exports[C] = Exports(connection)
        self.me: OwnKey[C] = OwnKey(connection)


class Leadwire(_Resources[Connection], Closing):
    """The API. Safe to share between threads; close it, or use it as a context manager.

    `base_url` is the address before `/v1`. `timeout` is in seconds, for each of connecting, writing and reading; an
    answer that was asked to wait has so much more. `transport` replaces httpx's own, for proxies, certificates and
    tests. Methods raise ApiError (see `errors`), Unreachable and Unreadable, all of them LeadwireError.
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
        super().__init__(Connection(self._http, timeout, retry))


class AsyncLeadwire(_Resources[AsyncConnection], AsyncClosing):
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
        super().__init__(AsyncConnection(self._http, timeout, retry))


def headers(api_key: str) -> dict[str, str]:
    """What every request carries. Raise ValueError for what cannot be a key: one with its line's end."""
    if not (api_key and api_key.isascii() and api_key.isprintable() and " " not in api_key):
        raise ValueError("the API key or token is empty, or has spaces, line ends or characters other than ASCII")
    agent = f"leadwire-python/{__version__}"
    return {"Authorization": f"Bearer {api_key}", "Accept": "application/json", "User-Agent": agent}
