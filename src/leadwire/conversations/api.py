"""/v1/conversations."""

from typing import Any

from litestar import Request, Router, post
from litestar.params import FromPath

from leadwire.conversations import changes, reads
from leadwire.conversations.reads import ConversationQuery
from leadwire.conversations.schema import Conversation, ConversationDetail, ConversationEnd
from leadwire.web import answers
from leadwire.web.answers import Answer
from leadwire.web.envelopes import Page, Single
from leadwire.web.openapi import Doc
from leadwire.web.routes import get


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
async def list_conversations(request: Request[Any, Any, Any]) -> Answer[Page[Conversation]]:
    pairs, query = answers.query(request, ConversationQuery)
    found, total = await reads.page(request.auth.workspace, query)
    return answers.page(request, pairs, query, found, total)


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
