"""The inbox: people who want a person, and answering them. Live across processes; what is half-written stays."""

from collections.abc import Awaitable, Callable
from typing import Any

from litestar import Response

from leadwire.domain.accounts import reads as accounts
from leadwire.domain.accounts.changes import audit
from leadwire.domain.bots import reads as bots
from leadwire.domain.bots import runtime
from leadwire.domain.bots.changes import visitor_sessions
from leadwire.domain.conversations import inbox, reads
from leadwire.domain.conversations.changes import inbox as changes
from leadwire.domain.conversations.changes import saved_replies as replies
from leadwire.domain.leads import reads as leads
from leadwire.infrastructure.errors import Invalid, NotFound
from leadwire.interfaces.web import lead_form
from leadwire.interfaces.web.live_updates import conversation_events
from leadwire.interfaces.web.page_context import PageContext
from leadwire.interfaces.web.routes import action, screen
from leadwire.interfaces.web.screens.leads import save

Operation = Callable[[str, str, str], Awaitable[None]]


@screen("/inbox", role="agent")
async def threads(context: PageContext) -> Response[str]:
    """The threads and, with `c` in the address, one conversation."""
    chosen = context.query.text("c") or (context.request.path_params.get("conversation_id", ""))
    conversation = await reads.detail(context.workspace, chosen) if chosen else None
    lead = conversation.lead if conversation else None
    places = await inbox.threads(context.workspace, context.me.user_id)
    thread = next((one for found in places.values() for one in found if one.id == chosen), None)
    saved = await inbox.saved_replies(context.workspace) if conversation else []
    picked = next((one.content for one in saved if one.id == context.query.text("say")), "")
    return await context.render(
        "inbox/inbox.html",
        places=places,
        titles={"waiting": "Waiting", "mine": "Mine", "theirs": "With colleagues", "bot": "With the bot"},
        conversation=conversation,
        thread=thread,
        name=reads.visitor_of(conversation) if conversation else None,
        replies=saved,
        draft=inbox.fill_in(picked, lead.name if lead else None),
        bots=await bots.names(context.workspace),
        people={person.id: person.email for person in await accounts.users(context.workspace)},
        notes=await inbox.notes(context.workspace, chosen) if conversation else [],
        version=(await leads.stored(context.workspace, lead.id)).version if lead else 0,
        score=await bots.score_of(context.workspace, lead.id) if lead else [],
    )


@screen("/inbox/live", role="agent")
async def live(context: PageContext) -> Response[Any]:
    """Tells when anything happened in any conversation of the workspace."""
    return conversation_events(context.workspace, context.me.session_id)


@action("/inbox/{conversation_id:str}/reply", role="agent", shown_on=threads)
async def reply(context: PageContext) -> Response[Any]:
    """Answer; that takes a conversation nobody has."""
    content = context.form.raw("content")
    await changes.reply(context.workspace, context.path_param("conversation_id"), context.me.user_id, content)
    return await _to_conversation(context)


@action("/inbox/{conversation_id:str}/note", role="agent", shown_on=threads)
async def note(context: PageContext) -> Response[Any]:
    """Write something for colleagues."""
    content = context.form.raw("note")
    await changes.note(context.workspace, context.path_param("conversation_id"), context.me.user_id, content)
    return await _to_conversation(context)


@action("/inbox/{conversation_id:str}/claim", role="agent", shown_on=threads)
async def claim(context: PageContext) -> Response[Any]:
    """Take it: from the queue, the bot, or the colleague who had it when the page was made."""
    held_by = context.form.text("held_by") or None
    await changes.claim(context.workspace, context.path_param("conversation_id"), context.me.user_id, held_by=held_by)
    return await _to_conversation(context)


@action("/inbox/{conversation_id:str}/lead", role="agent", shown_on=threads)
async def edit_lead(context: PageContext) -> Response[Any]:
    """Correct how to reach the visitor."""
    conversation = await reads.detail(context.workspace, context.path_param("conversation_id"))
    if conversation.lead is None:
        raise NotFound("This visitor is no lead yet.")
    await save(context, conversation.lead.id, lead_form.contact(context.form, conversation.lead))
    return await _to_conversation(context)


@action("/inbox/{conversation_id:str}/{operation:str}", role="agent", shown_on=threads)
async def do(context: PageContext) -> Response[Any]:
    """Put it back into the queue, give it back to the bot, end it, block the visitor."""
    operations: dict[str, Operation] = {
        "release": changes.release,
        "give-back": runtime.hand_back,
        "end": changes.end,
        "block": visitor_sessions.block,
    }
    conversation_id, operation = context.path_param("conversation_id"), context.path_param("operation")
    if operation not in operations:
        raise Invalid(f"A conversation can be: {', '.join(operations)}.")
    async with audit.transaction(context.me, f"conversation.{operation.replace('-', '_')}", conversation_id):
        await operations[operation](context.workspace, conversation_id, context.me.user_id)
    return await _to_conversation(context)


@screen("/inbox/replies", role="agent")
async def saved_replies(context: PageContext) -> Response[str]:
    """All saved replies, and the form for another."""
    return await context.render("inbox/replies.html", replies=await inbox.saved_replies(context.workspace))


@action("/inbox/replies", role="agent", shown_on=saved_replies)
async def add_reply(context: PageContext) -> Response[Any]:
    """Another saved reply, for everybody who answers visitors."""
    name = context.form.text("name")
    async with audit.transaction(context.me, "saved_reply.added", detail=name) as entry:
        entry.subject = await replies.add(context.workspace, name, context.form.raw("content"))
    return await context.redirect("/inbox/replies", f"“{name}” is in the inbox now.")


@action("/inbox/replies/{reply_id:str}/remove", role="agent", shown_on=saved_replies)
async def remove_reply(context: PageContext) -> Response[Any]:
    """A saved reply is gone."""
    async with audit.transaction(context.me, "saved_reply.removed", context.path_param("reply_id")) as entry:
        entry.detail = await replies.remove(context.workspace, context.path_param("reply_id"))
    return await context.redirect("/inbox/replies", f"“{entry.detail}” is removed.")


async def _to_conversation(context: PageContext) -> Response[Any]:
    return await context.redirect(f"/inbox?c={context.path_param('conversation_id')}")
