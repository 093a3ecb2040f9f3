"""/v1/conversations."""

from typing import Any

from litestar import Request, Router, post
from litestar.params import FromPath

from leadwire.domain.conversations import changes, reads
from leadwire.domain.conversations.reads import ConversationQuery
from leadwire.domain.conversations.schema import Conversation, ConversationDetail, ConversationEnd
from leadwire.interfaces.http import responses
from leadwire.interfaces.http.envelopes import Page, Single
from leadwire.interfaces.http.responses import JSONResponse
from leadwire.interfaces.http.routes import get
from leadwire.interfaces.v1.openapi import Doc


@get(
    "/",
    scope="conversations:read",
    doc=Doc(
        "List conversations",
        "Newest first.",
        query=ConversationQuery,
        headers=("Link",),
        links={
            name: {"conversation_id": "$response.body#/data/0/id"} for name in ("show_conversation", "end_conversation")
        },
    ),
)
async def list_conversations(request: Request[Any, Any, Any]) -> JSONResponse[Page[Conversation]]:
    pairs, query = responses.query(request, ConversationQuery)
    found, total = await reads.page(request.auth.workspace, query)
    return responses.page(request, pairs, query, found, total)


@get(
    "/{conversation_id:str}",
    scope="conversations:read",
    doc=Doc(
        "Retrieve a conversation",
        "With its messages, oldest first, and its lead.",
        links={"end_conversation": {"conversation_id": "$response.body#/data/id"}},
    ),
)
async def show_conversation(
    request: Request[Any, Any, Any], conversation_id: FromPath[str]
) -> Single[ConversationDetail]:
    return Single(await reads.detail(request.auth.workspace, conversation_id))


@post(
    "/{conversation_id:str}/end",
    scope="conversations:write",
    status_code=200,
    doc=Doc(
        "End a conversation",
        "Ending an ended one answers its first end. A body is ignored. Emits `conversation.ended`, once.",
        links={"show_conversation": {"conversation_id": "$response.body#/data/id"}},
    ),
)
async def end_conversation(request: Request[Any, Any, Any], conversation_id: FromPath[str]) -> Single[ConversationEnd]:
    return Single(await changes.end(request.auth.workspace, conversation_id, "api", "api"))


router = Router(
    "/conversations",
    route_handlers=[list_conversations, show_conversation, end_conversation],
    tags=["Conversations"],
)
