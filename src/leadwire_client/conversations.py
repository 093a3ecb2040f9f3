"""`lw.conversations`."""

from typing import Any, Final, Unpack

from leadwire_client.call import Call, change_headers, page, params, path_to, single
from leadwire_client.connection import C, Resource, method
from leadwire_client.types import Conversation, ConversationDetail, ConversationEnd, Message, Page
from leadwire_client.walk import Filters, Walk

_PAGE: Final = page(Conversation)
_DETAIL: Final = single(ConversationDetail)
_MESSAGES: Final = page(Message)
_END: Final = single(ConversationEnd)


class ConversationFilters(Filters, total=False):
    """Which conversations. `status` is active, handoff or ended."""

    status: str | None


class Conversations(Resource[C]):
    """`lw.conversations`."""

    @method
    def list(self, *, limit: int | None = None, **filters: Unpack[ConversationFilters]) -> Walk[Conversation]:
        """Every conversation that matches, with the order, the parameters and the promises of `leads.list`.

        Raises Invalid.
        """
        return Walk(_page, filters, limit=limit)

    @method
    def page(
        self,
        *,
        limit: int | None = None,
        page: int | None = None,
        cursor: str | None = None,
        **filters: Unpack[ConversationFilters],
    ) -> Call[Page[Conversation]]:
        """One page, with the parameters of `leads.page`. Raises Invalid."""
        return _page(limit=limit, page=page, cursor=cursor, **filters)

    @method
    def get(self, conversation_id: str) -> Call[ConversationDetail]:
        """One conversation with its messages, lead and metadata. Raises NotFound."""
        return Call(method="GET", path=path_to("conversations", conversation_id), read=_DETAIL)

    @method
    def messages(
        self, conversation_id: str, *, limit: int | None = None, page: int | None = None
    ) -> Call[Page[Message]]:
        """One page of a conversation's messages, oldest first. Raises NotFound, Invalid."""
        path = path_to("conversations", conversation_id, "/messages")
        return Call(method="GET", path=path, params=params(limit=limit, page=page), read=_MESSAGES)

    @method
    def end(self, conversation_id: str, *, idempotency_key: str | None = None) -> Call[ConversationEnd]:
        """End a conversation; one that has ended answers its first end. Raises NotFound."""
        path = path_to("conversations", conversation_id, "/end")
        return Call(method="POST", path=path, headers=change_headers(idempotency_key), read=_END)


def _page(**query: Any) -> Call[Page[Conversation]]:
    return Call(method="GET", path="/v1/conversations", params=params(**query), read=_PAGE)
