"""Conversations: the list, and one of them word for word."""

from leadwire.domain.bots import reads as bots
from leadwire.domain.bots.changes import visitor_sessions
from leadwire.domain.conversations import reads
from leadwire.domain.webhooks import reads as webhooks
from leadwire.interfaces.web.faces import nickname
from leadwire.interfaces.web.routes import PageContext, Values, action, screen


@screen("/conversations", "conversations/list.html")
async def conversations(context: PageContext) -> Values:
    wanted = context.query_as(reads.ConversationSearch)
    page = await reads.search(context.workspace, wanted)
    context.note_read("conversations.listed", filters=wanted)
    return {
        "wanted": wanted,
        "found": page,
        "openers": await reads.openers([conversation.id for conversation in page.items]),
        "total": await reads.total(context.workspace, wanted),
        "bots": await bots.names(context.workspace),
    }


@screen("/conversations/{conversation_id}", "conversations/one.html")
async def conversation(context: PageContext, conversation_id: str) -> Values:
    """What was said, by whom, and what is known of the visitor."""
    conversation = await reads.detail(context.workspace, conversation_id)
    events = await reads.events(context.workspace, conversation.id)
    context.note_read("conversation.read", conversation.id)
    return {
        "conversation": conversation,
        "blocked": await bots.has_blocked(context.workspace, conversation.id),
        "visit": conversation.metadata,
        "rating": await reads.rating(context.workspace, conversation.id),
        "variables": reads.variables(conversation),
        "events": events,
        "sent": await webhooks.states_of(context.workspace, [event.id for event in events]),
        "bot": (await bots.names(context.workspace)).get(conversation.bot_id, conversation.bot_id),
        "authors": await reads.authors(context.workspace, conversation.id),
        "name": reads.visitor_of(conversation) or nickname(conversation.id),
    }


@action("/conversations/{conversation_id}/unblock", role="agent", shown_on=conversation, audit="conversation.unblock")
async def unblock(context: PageContext, conversation_id: str) -> str:
    await visitor_sessions.unblock(context.workspace, conversation_id)
    return "The visitor can talk to your bots again."
