"""The client as its users meet it."""

from typing import Self

import httpx

from leadwire.client.connection import AsyncConnection, Connection, headers
from leadwire.client.conversations import AsyncConversations, Conversations
from leadwire.client.leads import AsyncLeads, Leads
from leadwire.client.retry import Retry


class Leadwire:
    """The API. Safe to share between threads; close it, or use it as a context manager.

    `base_url` is the address before `/v1`. `timeout` is in seconds, for each of connecting, writing and reading.
    `transport` replaces httpx's own, for proxies, certificates and tests.
    Methods raise ApiError (see `errors`), Unreachable and Unreadable, all of them LeadwireError.
    """

    leads: Leads
    conversations: Conversations

    def __init__(
        self,
        api_key: str,
        base_url: str,
        *,
        timeout: float = 30.0,
        retry: Retry = Retry(),  # noqa: B008 - frozen
        transport: httpx.BaseTransport | None = None,
    ) -> None:
        http = httpx.Client(base_url=base_url, headers=headers(api_key), transport=transport)
        self._connection = Connection(http, timeout, retry)
        self.leads = Leads(self._connection)
        self.conversations = Conversations(self._connection)

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        self.close()

    def close(self) -> None:
        """Close the connections."""
        self._connection.http.close()


class AsyncLeadwire:
    """`Leadwire` with `await`, and `async for` over `list`."""

    leads: AsyncLeads
    conversations: AsyncConversations

    def __init__(
        self,
        api_key: str,
        base_url: str,
        *,
        timeout: float = 30.0,
        retry: Retry = Retry(),  # noqa: B008 - frozen
        transport: httpx.AsyncBaseTransport | None = None,
    ) -> None:
        http = httpx.AsyncClient(base_url=base_url, headers=headers(api_key), transport=transport)
        self._connection = AsyncConnection(http, timeout, retry)
        self.leads = AsyncLeads(self._connection)
        self.conversations = AsyncConversations(self._connection)

    async def __aenter__(self) -> Self:
        return self

    async def __aexit__(self, *_: object) -> None:
        await self.close()

    async def close(self) -> None:
        """Close the connections."""
        await self._connection.http.aclose()
