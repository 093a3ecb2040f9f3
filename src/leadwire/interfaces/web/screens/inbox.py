"""The inbox: visitors who want a person, and answering them."""

from collections.abc import Awaitable, Callable
from typing import Final

from leadwire.domain.accounts import reads as accounts
from leadwire.domain.bots import reads as bots
from leadwire.domain.bots import runtime
from leadwire.domain.bots.changes import visitor_sessions
from leadwire.domain.conversations import reads
from leadwire.domain.conversations.changes import inbox as changes
from leadwire.domain.leads import reads as leads
from leadwire.domain.mail import reads as mail
from leadwire.infrastructure.errors import Invalid, NotFound
from leadwire.interfaces.web import lead_form
from leadwire.interfaces.web.live_updates import conversation_events
from leadwire.interfaces.web.page_context import PageContext, PageResponse
from leadwire.interfaces.web.routes import action, screen
from leadwire.interfaces.web.screens.leads import save

_OPERATIONS: Final[dict[str, Callable[[str, str, str], Awaitable[None]]]] = {
    "release": changes.release,  # back into the queue
    "give-back": runtime.hand_back,  # to the bot
    "end": changes.end,
    "block": visitor_sessions.block,
}


@screen("/inbox", role="agent")
async def inbox(context: PageContext) -> PageResponse:
    """Who waits for whom and, with `c` in the address, one conversation."""
    chosen = context.query.text("c") or (context.request.path_params.get("conversation_id", ""))
    conversation = await reads.detail(context.workspace, chosen) if chosen else None
    lead = conversation.lead if conversation else None
    context.note_read("conversation.read" if chosen else "inbox.read", chosen)
    places = await reads.threads(context.workspace, context.me.user_id)
    thread = next((one for found in places.values() for one in found if one["id"] == chosen), None)
    saved = await reads.saved_replies(workspace=context.workspace) if conversation else []
    picked = next((one["content"] for one in saved if one["id"] == context.query.text("say")), "")
    return await context.render(
        "inbox/inbox.html",
        places=places,
        conversation=conversation,
        thread=thread,
        name=reads.visitor_of(conversation) if conversation else None,
        replies=saved,
        draft=reads.fill_in(picked, lead.name if lead else None),
        bots=await bots.names(context.workspace),
        people={person.id: person.email for person in await accounts.users(context.workspace)},
        notes=await reads.notes(workspace=context.workspace, conversation_id=chosen) if conversation else [],
        version=(await leads.stored(context.workspace, lead.id)).version if lead else 0,
        score=await bots.score_of(context.workspace, lead.id) if lead else [],
        mailable=lead is not None and lead.email is not None and mail.enabled(),
    )


@screen("/inbox/live", role="agent")
async def live(context: PageContext) -> PageResponse:
    """Tells when anything happened in any conversation of the workspace."""
    return conversation_events(context.workspace, context.me.session_id)


@action("/inbox/{conversation_id}/reply", role="agent", shown_on=inbox)
async def reply(context: PageContext, conversation_id: str) -> PageResponse:
    """Answer; that takes a conversation nobody has."""
    await changes.reply(context.workspace, conversation_id, context.me.user_id, context.form.raw("content"))
    return context.redirect(f"/inbox?c={conversation_id}")


@action("/inbox/{conversation_id}/note", role="agent", shown_on=inbox)
async def note(context: PageContext, conversation_id: str) -> PageResponse:
    await changes.note(context.workspace, conversation_id, context.me.user_id, context.form.raw("note"))
    return context.redirect(f"/inbox?c={conversation_id}")


@action("/inbox/{conversation_id}/claim", role="agent", shown_on=inbox)
async def claim(context: PageContext, conversation_id: str) -> PageResponse:
    """Take it: from the queue, the bot, or the colleague who had it when the page was made."""
    held_by = context.form.text("held_by") or None
    await changes.claim(context.workspace, conversation_id, context.me.user_id, held_by=held_by)
    return context.redirect(f"/inbox?c={conversation_id}")


@action("/inbox/{conversation_id}/lead", role="agent", shown_on=inbox, audit="lead.updated")
async def edit_lead(context: PageContext, conversation_id: str) -> PageResponse:
    """Correct how to reach the visitor."""
    conversation = await reads.detail(context.workspace, conversation_id)
    if conversation.lead is None:
        raise NotFound("This visitor is no lead yet.")
    await save(context, conversation.lead.id, lead_form.contact(context.form, conversation.lead))
    return context.redirect(f"/inbox?c={conversation_id}")


@action("/inbox/{conversation_id}/{operation}", role="agent", shown_on=inbox, audit="conversation.changed")
async def do(context: PageContext, conversation_id: str, operation: str) -> PageResponse:
    if operation not in _OPERATIONS:
        raise Invalid(f"A conversation can be: {', '.join(_OPERATIONS)}.")
    context.entry.action = f"conversation.{operation.replace('-', '_')}"
    await _OPERATIONS[operation](context.workspace, conversation_id, context.me.user_id)
    return context.redirect(f"/inbox?c={conversation_id}")


@screen("/inbox/replies", role="agent")
async def saved_replies(context: PageContext) -> PageResponse:
    return await context.render("inbox/replies.html", replies=await reads.saved_replies(workspace=context.workspace))


@action("/inbox/replies", role="agent", shown_on=saved_replies, audit="saved_reply.added")
async def add_reply(context: PageContext) -> PageResponse:
    """Another saved reply, for everybody who answers visitors."""
    context.entry.detail = name = context.form.text("name")
    context.entry.subject = await changes.add_reply(context.workspace, name, context.form.raw("content"))
    return context.redirect("/inbox/replies", f"“{name}” is in the inbox now.")


@action("/inbox/replies/{reply_id}/remove", role="agent", shown_on=saved_replies, audit="saved_reply.removed")
async def remove_reply(context: PageContext, reply_id: str) -> PageResponse:
    context.entry.detail = name = await changes.remove_reply(context.workspace, reply_id)
    return context.redirect("/inbox/replies", f"“{name}” is removed.")
