"""Conversations of visitors with bots and, after a handoff, with people."""

from litestar import Router

from leadwire.domain.conversations import changes, reads
from leadwire.domain.conversations.reads import ConversationQuery
from leadwire.domain.conversations.schema import Conversation, ConversationDetail, ConversationEnd, Message
from leadwire.domain.listing.queries import NumberedQuery
from leadwire.interfaces.http.responses import Page, PageMeta, Single
from leadwire.interfaces.v1.operations import Caller, Query, get, post


@get("/", scope="conversations:read")
async def list_conversations(caller: Caller, query: Query[ConversationQuery]) -> Page[Conversation]:
    """List conversations.

    Newest first, unless `sort` or a filter by the time of the last change says otherwise.
    """
    page = await reads.page(caller.workspace, query)
    return Page(page.items, PageMeta(page.total, page.page, query.limit, page.next_cursor, page.complete))


@get("/{conversation_id:str}", scope="conversations:read")
async def show_conversation(caller: Caller, conversation_id: str) -> Single[ConversationDetail]:
    """Retrieve a conversation.

    With its messages, oldest first, and its lead.
    """
    return Single(await reads.detail(caller.workspace, conversation_id))


@get("/{conversation_id:str}/messages", scope="conversations:read")
async def list_messages(caller: Caller, conversation_id: str, query: Query[NumberedQuery]) -> Page[Message]:
    """List the messages of a conversation.

    Oldest first. Messages are only added, so a page that is full stays as it is.
    """
    messages, total = await reads.messages_page(caller.workspace, conversation_id, query.page, query.limit)
    return Page(messages, PageMeta(total, query.page, query.limit))


@post("/{conversation_id:str}/end", scope="conversations:write")
async def end_conversation(caller: Caller, conversation_id: str) -> Single[ConversationEnd]:
    """End a conversation.

    Ending an ended one returns its first end. A body is ignored. Emits `conversation.ended`, once.
    """
    return Single(await changes.end(caller.workspace, conversation_id, "api", "api"))


router = Router(
    "/conversations", route_handlers=[list_conversations, show_conversation, list_messages, end_conversation]
)
