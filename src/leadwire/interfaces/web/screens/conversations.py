"""Conversations: the list, and one of them word for word."""

from leadwire.domain.bots import reads as bots
from leadwire.domain.bots.changes import visitor_sessions
from leadwire.domain.conversations import reads
from leadwire.domain.conversations.reads import ConversationSearch
from leadwire.domain.webhooks import reads as webhooks
from leadwire.interfaces.web.faces import nickname
from leadwire.interfaces.web.page_context import PageContext, PageResponse
from leadwire.interfaces.web.routes import action, screen


@screen("/conversations")
async def conversations(context: PageContext) -> PageResponse:
    wanted = context.query_as(ConversationSearch)
    page = await reads.search(context.workspace, wanted)
    context.note_read("conversations.listed", filters=wanted)
    return await context.render(
        "conversations/list.html",
        wanted=wanted,
        found=page,
        openers=await reads.openers(page.items),
        total=await reads.total(context.workspace, wanted),
        bots=await bots.names(context.workspace),
    )


@screen("/conversations/{conversation_id}")
async def conversation(context: PageContext, conversation_id: str) -> PageResponse:
    """What was said, by whom, and what is known of the visitor."""
    one = await reads.detail(context.workspace, conversation_id)
    events = await reads.events(context.workspace, one.id)
    context.note_read("conversation.read", one.id)
    return await context.render(
        "conversations/one.html",
        conversation=one,
        blocked=await bots.has_blocked(context.workspace, one.id),
        visit=one.metadata,
        rating=await reads.rating(context.workspace, one.id),
        variables=reads.variables(one),
        events=events,
        sent=await webhooks.states_of(context.workspace, [event.id for event in events]),
        bot=(await bots.names(context.workspace)).get(one.bot_id, one.bot_id),
        authors=await reads.authors(context.workspace, one.id),
        name=reads.visitor_of(one) or nickname(one.id),
    )


@action("/conversations/{conversation_id}/unblock", role="agent", shown_on=conversation, audit="conversation.unblock")
async def unblock(context: PageContext, conversation_id: str) -> PageResponse:
    await visitor_sessions.unblock(context.workspace, conversation_id)
    return context.redirect(f"/conversations/{conversation_id}", "The visitor can talk to your bots again.")
