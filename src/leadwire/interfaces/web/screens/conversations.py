"""Conversations: the list, and one of them word for word."""

from typing import Any, Final

from litestar import Response

from leadwire.domain.accounts.changes import audit
from leadwire.domain.bots import reads as bots
from leadwire.domain.bots.changes import visitor_sessions
from leadwire.domain.conversations import reads
from leadwire.domain.conversations.reads import ConversationSearch
from leadwire.domain.webhooks import reads as webhooks
from leadwire.interfaces.web.page_context import PageContext
from leadwire.interfaces.web.routes import action, screen

_STATES: Final = {"": "Any state", "active": "With the bot", "handoff": "Wants a person", "ended": "Ended"}


@screen("/conversations")
async def conversations(context: PageContext) -> Response[str]:
    """One page of the conversations that match."""
    wanted = context.query_as(ConversationSearch)
    found = await reads.search(context.workspace, wanted)
    return await context.render(
        "conversations/list.html",
        wanted=wanted,
        found=found,
        openers=await reads.openers(found.items),
        total=await reads.total(context.workspace, wanted),
        bots=await bots.names(context.workspace),
        states=_STATES,
    )


@screen("/conversations/{conversation_id:str}")
async def conversation(context: PageContext) -> Response[str]:
    """What was said, by whom, and what is known of the visitor."""
    one = await reads.detail(context.workspace, context.path_param("conversation_id"))
    events = await reads.events(context.workspace, one.id)
    return await context.render(
        "conversations/one.html",
        conversation=one,
        blocked=await bots.has_blocked(context.workspace, one.id),
        about=one.metadata,
        variables=reads.variables(one),
        events=events,
        sent=await webhooks.states_of(context.workspace, [event.id for event in events]),
        bot=(await bots.names(context.workspace)).get(one.bot_id, one.bot_id),
        name=reads.visitor_of(one) or "A visitor",
    )


@action("/conversations/{conversation_id:str}/unblock", role="agent", shown_on=conversation)
async def unblock(context: PageContext) -> Response[Any]:
    """Bots talk again with the visitor who was blocked here."""
    conversation_id = context.path_param("conversation_id")
    async with audit.transaction(context.me, "conversation.unblock", conversation_id):
        await visitor_sessions.unblock(context.workspace, conversation_id)
    return await context.redirect(f"/conversations/{conversation_id}", "The visitor can talk to your bots again.")
