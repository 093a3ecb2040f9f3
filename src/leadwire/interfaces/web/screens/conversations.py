"""Conversations: the list, and one of them word for word."""

from typing import Any, Final

from litestar import Response

from leadwire.domain.accounts import audit
from leadwire.domain.bots import reads as bots
from leadwire.domain.conversations import inbox, reads, search
from leadwire.domain.conversations.search import ConversationSearch
from leadwire.domain.webhooks import reads as webhooks
from leadwire.interfaces.web.page_context import Visit
from leadwire.interfaces.web.routes import action, screen

_STATES: Final = {"": "Any state", "active": "With the bot", "handoff": "Wants a person", "ended": "Ended"}


@screen("/conversations")
async def conversations(visit: Visit) -> Response[str]:
    """One page of the conversations that match."""
    wanted = visit.asked(ConversationSearch)
    return await visit.page(
        "conversations/list.html",
        wanted=wanted,
        found=await search.page(visit.workspace, wanted),
        total=await search.total(visit.workspace, wanted),
        bots=await bots.names(visit.workspace),
        states=_STATES,
    )


@screen("/conversations/{conversation_id:str}")
async def conversation(visit: Visit) -> Response[str]:
    """What was said, by whom, and what is known of the visit."""
    one = await reads.detail(visit.workspace, visit.part("conversation_id"))
    events = await reads.events(visit.workspace, one.id)
    return await visit.page(
        "conversations/one.html",
        talk=one,
        blocked=await inbox.blocks(visit.workspace, one.id),
        about=one.metadata,
        variables=reads.variables(one),
        events=events,
        sent=await webhooks.states_of(visit.workspace, [event.id for event in events]),
        bot=(await bots.names(visit.workspace)).get(one.bot_id, one.bot_id),
        name=reads.visitor_of(one) or "A visitor",
    )


@action("/conversations/{conversation_id:str}/unblock", role="agent", shown_on=conversation)
async def unblock(visit: Visit) -> Response[Any]:
    """Bots talk again with the visitor who was blocked here."""
    conversation_id = visit.part("conversation_id")
    async with audit.act(visit.me, "conversation.unblock", conversation_id):
        await inbox.unblock(visit.workspace, conversation_id)
    return await visit.back(f"/conversations/{conversation_id}", "The visitor can talk to your bots again.")
