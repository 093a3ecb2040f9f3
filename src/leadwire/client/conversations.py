"""`lw.conversations`."""

from collections.abc import AsyncIterator, Iterator
from typing import Any, Final, TypedDict, Unpack

from leadwire.client.call import Call, Moment, change_headers, page, params, path_to, single
from leadwire.client.connection import AsyncConnection, Connection
from leadwire.client.types import Conversation, ConversationDetail, ConversationEnd, Page
from leadwire.client.walk import Walk

_PAGE: Final = page(Conversation)
_DETAIL: Final = single(ConversationDetail)
_END: Final = single(ConversationEnd)


class ConversationFilters(TypedDict, total=False):
    """Which conversations: `status` is active, handoff or ended; `since` and `until` are exclusive."""

    status: str | None
    bot_id: str | None
    since: Moment | None
    until: Moment | None


class Conversations:
    """`lw.conversations`."""

    def __init__(self, connection: Connection) -> None:
        self._connection = connection

    def list(
        self, *, limit: int | None = None, page: int = 1, **filters: Unpack[ConversationFilters]
    ) -> Iterator[Conversation]:
        """Every conversation that matches, newest first, with the parameters and the promise of `leads.list`.

        Raises Invalid.
        """
        return self._connection.walk(Walk(_page, filters, limit, page))

    def page(
        self, *, limit: int | None = None, page: int | None = None, **filters: Unpack[ConversationFilters]
    ) -> Page[Conversation]:
        """One page, newest first. `limit` is 1 to 100 (20 by default), `page` counts from 1. Raises Invalid."""
        return self._connection.run(_page(limit=limit, page=page, **filters))

    def get(self, conversation_id: str) -> ConversationDetail:
        """One conversation with its messages, lead and metadata. Raises NotFound."""
        return self._connection.run(_get(conversation_id))

    def end(self, conversation_id: str, *, idempotency_key: str | None = None) -> ConversationEnd:
        """End a conversation; one that has ended answers its first end. Raises NotFound."""
        return self._connection.run(_end(conversation_id, idempotency_key))


class AsyncConversations:
    """`Conversations` with `await`, and `async for` over `list`."""

    def __init__(self, connection: AsyncConnection) -> None:
        self._connection = connection

    def list(
        self, *, limit: int | None = None, page: int = 1, **filters: Unpack[ConversationFilters]
    ) -> AsyncIterator[Conversation]:
        return self._connection.walk(Walk(_page, filters, limit, page))

    async def page(
        self, *, limit: int | None = None, page: int | None = None, **filters: Unpack[ConversationFilters]
    ) -> Page[Conversation]:
        return await self._connection.run(_page(limit=limit, page=page, **filters))

    async def get(self, conversation_id: str) -> ConversationDetail:
        return await self._connection.run(_get(conversation_id))

    async def end(self, conversation_id: str, *, idempotency_key: str | None = None) -> ConversationEnd:
        return await self._connection.run(_end(conversation_id, idempotency_key))


def _page(**query: Any) -> Call[Page[Conversation]]:
    return Call(method="GET", path="/v1/conversations", params=params(**query), read=_PAGE)


def _get(conversation_id: str) -> Call[ConversationDetail]:
    return Call(method="GET", path=path_to("conversations", conversation_id), read=_DETAIL)


def _end(conversation_id: str, idempotency_key: str | None) -> Call[ConversationEnd]:
    path = path_to("conversations", conversation_id, "/end")
    return Call(method="POST", path=path, headers=change_headers(idempotency_key), read=_END)
