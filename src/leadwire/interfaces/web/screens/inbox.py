"""The inbox: visitors who want a person, and answering them; beside a conversation who the visitor is, notes and tags;
and the replies that are saved for all.
"""

from collections.abc import Awaitable, Callable
from typing import Final, cast, get_args

from litestar import Response

from leadwire.domain.accounts import reads as accounts
from leadwire.domain.accounts.schema import has_role
from leadwire.domain.bots import reads as bots
from leadwire.domain.bots.changes import visitor_sessions
from leadwire.domain.bots.visitors import runtime, variables
from leadwire.domain.conversations import inbox_reads, pubsub, reads
from leadwire.domain.conversations.changes import end_and_snooze, seen
from leadwire.domain.conversations.changes import inbox as changes
from leadwire.domain.conversations.schema import MAX_MESSAGES
from leadwire.domain.leads.schema import LeadPatch
from leadwire.domain.mail import reads as mail
from leadwire.domain.notices import changes as notices
from leadwire.infrastructure import clock, ids
from leadwire.infrastructure.errors import Conflict, Invalid, NotFound
from leadwire.interfaces.http import body
from leadwire.interfaces.web import lead_form
from leadwire.interfaces.web.faces import nickname
from leadwire.interfaces.web.live_updates import conversation_events
from leadwire.interfaces.web.routes import PageContext, PageResponse, Values, action, screen
from leadwire.interfaces.web.screens.leads import save

_OPERATIONS: Final[dict[str, Callable[[str, str, str], Awaitable[None]]]] = {
    "release": changes.release,  # back into the queue
    "give-back": changes.give_back,  # to the bot
    "end": end_and_snooze.end,
    "undo-end": end_and_snooze.undo_end,
    "wake": end_and_snooze.wake,
    "block": visitor_sessions.block,
}
_PLACES: Final = get_args(inbox_reads.Place)


@screen("/inbox", "inbox/inbox.html", role="agent", chosen="c")
async def inbox(context: PageContext) -> Values:
    """Who waits for whom and, with `c` in the address, one conversation."""
    chosen = context.query.text("c") or (context.request.path_params.get("conversation_id", ""))
    workspace, me = context.workspace, context.me.user_id
    conversation = await reads.detail(workspace, chosen) if chosen else None
    lead = conversation.lead if conversation else None
    wanted = _wanted(context)
    context.note_read("conversation.read" if chosen else "inbox.read", chosen, wanted)
    saved = await reads.saved_replies(workspace) if conversation else []
    picked = next((row["content"] for row in saved if row["id"] == context.query.text("say")), "")
    people = await accounts.users(workspace)
    lookers = pubsub.hub.lookers.of((workspace, chosen)) - {me}
    return {
        "found": await inbox_reads.threads(workspace, me, wanted),
        "wanted": wanted,
        "counts": await inbox_reads.counts(workspace, me),
        "conversation": conversation,
        "thread": await inbox_reads.one(workspace, chosen, me) if conversation else None,
        "name": (reads.visitor_of(conversation) or nickname(chosen)) if conversation else None,
        "vouched": variables.vouched(reads.variables(conversation)) if conversation else {},
        "replies": saved,
        "draft": reads.fill_in(picked, lead.name if lead else None),
        "bots": await bots.names(workspace),
        "people": {person.id: person.called for person in people},
        "colleagues": [person for person in people if has_role(person.role, "agent")],
        "looking": [person.called for person in people if person.id in lookers],
        "authors": await reads.authors(workspace, chosen) if conversation else {},
        "notes": await reads.notes(workspace, chosen) if conversation else [],
        "correction": (lead_form.draft(context.form, lead) or lead_form.texts_of(lead)) if lead else {},
        "seen": lead_form.seen(lead) if lead else "",
        "points": await bots.score_of(workspace, lead.id) if lead else [],
        "mailable": lead is not None and lead.email is not None and mail.enabled(),
        "now": clock.now(),
    }


@screen("/inbox/live", role="agent")
async def live(context: PageContext) -> PageResponse:
    """Tells when anything happened in any conversation of the workspace, and others that one is looked at."""
    chosen = context.query.text("c")
    looks_at = chosen if ids.is_id("conv", chosen) else ""
    return conversation_events(context.me, looks_at)


@action("/inbox/{conversation_id}/reply", role="agent", shown_on=inbox)
async def reply(context: PageContext, conversation_id: str) -> None:
    """Answer; that takes a conversation nobody has. What was written for another one is not sent."""
    form = context.form
    if form.text("conversation") not in ("", conversation_id):
        raise Conflict("This answer was written for another conversation. Nothing was sent.", code="other_conversation")
    content, once = form.raw("content"), form.text("once")
    await changes.reply(context.workspace, conversation_id, context.me.user_id, content, once)


@action("/inbox/{conversation_id}/claim", role="agent", shown_on=inbox)
async def claim(context: PageContext, conversation_id: str) -> None:
    """Take it: from the queue, the bot, or the colleague who had it when the page was made."""
    held_by = context.form.text("held_by") or None
    await changes.claim(context.workspace, conversation_id, context.me.user_id, held_by=held_by)


@action("/inbox/{conversation_id}/assign", role="agent", shown_on=inbox, audit="conversation.assigned")
async def assign(context: PageContext, conversation_id: str) -> str:
    """Give it to a colleague."""
    held_by, to = context.form.text("held_by") or None, context.form.text("to")
    person = await changes.assign(context.workspace, conversation_id, context.me.user_id, to, held_by=held_by)
    context.entry.detail = person.email
    return f"Assigned to {person.called}."


@action("/inbox/{conversation_id}/snooze", role="agent", shown_on=inbox, audit="conversation.snoozed")
async def snooze(context: PageContext, conversation_id: str) -> None:
    """Put it away for a while."""
    until = end_and_snooze.snoozed_until(*(context.form.text(name) for name in ("for", "at", "zone")))
    context.entry.detail = clock.iso(until)
    await end_and_snooze.snooze(context.workspace, conversation_id, context.me.user_id, until)


@action("/inbox/{conversation_id}/typing", role="agent")
async def typing(context: PageContext, conversation_id: str) -> PageResponse:
    """The visitor is shown that somebody writes."""
    if (await inbox_reads.one(context.workspace, conversation_id, context.me.user_id))["status"] == "handoff":
        pubsub.publish(context.workspace, conversation_id, "typing_agent")
    return Response(None, status_code=204)


@action("/inbox/{conversation_id}/seen", role="agent")
async def mark_seen(context: PageContext, conversation_id: str) -> PageResponse:
    """What is on the screen has been read."""
    await inbox_reads.one(context.workspace, conversation_id, context.me.user_id)
    seq = max(0, min(context.form.number("seq") or 0, MAX_MESSAGES))
    await seen.by_agent(context.workspace, conversation_id, context.me.user_id, seq)
    return Response(None, status_code=204)


@action("/inbox/{conversation_id}/note", role="agent", shown_on=inbox)
async def note(context: PageContext, conversation_id: str) -> None:
    """A note for colleagues; those whom it mentions are told."""
    content = context.form.raw("note")
    await notices.note(context.workspace, conversation_id, context.me.user_id, content, context.me.email)


@action("/inbox/{conversation_id}/tag", role="agent", shown_on=inbox)
async def tag(context: PageContext, conversation_id: str) -> None:
    await changes.tag(context.workspace, conversation_id, context.form.text("add"))


@action("/inbox/{conversation_id}/untag", role="agent", shown_on=inbox)
async def untag(context: PageContext, conversation_id: str) -> None:
    await changes.untag(context.workspace, conversation_id, context.form.raw("remove"))


@action("/inbox/{conversation_id}/lead", role="agent", shown_on=inbox, audit="lead.updated")
async def edit_lead(context: PageContext, conversation_id: str) -> None:
    """Correct how to reach the visitor."""
    conversation = await reads.detail(context.workspace, conversation_id)
    if conversation.lead is None:
        raise NotFound("This visitor is no lead yet.")
    await save(context, conversation.lead.id)


@action("/inbox/{conversation_id}/new-lead", role="agent", shown_on=inbox, audit="lead.captured")
async def add_lead(context: PageContext, conversation_id: str) -> str:
    """Make a lead of a visitor who has said how to reach them, as the flow would."""
    values = {name: context.form.text(name) for name in ("email", "name") if context.form.text(name)}
    lead = await runtime.capture(context.workspace, conversation_id, body.fields(values, LeadPatch))
    context.entry.subject, context.entry.detail = lead.id, conversation_id
    if lead.conversation_id == conversation_id:
        return "The visitor is a lead now."
    return (
        "This address belongs to a lead that was known already. The conversation is theirs now; what was known stays."
    )


@screen("/inbox/replies", "inbox/replies.html", role="agent")
async def saved_replies(context: PageContext) -> Values:
    return {"replies": await reads.saved_replies(context.workspace)}


@action("/inbox/replies", role="agent", shown_on=saved_replies, audit="saved_reply.added")
async def add_reply(context: PageContext) -> str:
    """Another saved reply, for everybody who answers visitors."""
    context.entry.detail = name = context.form.text("name")
    context.entry.subject = await changes.add_reply(context.workspace, name, context.form.raw("content"))
    return f"“{name}” is in the inbox now."


@action("/inbox/replies/{reply_id}/remove", role="agent", shown_on=saved_replies, audit="saved_reply.removed")
async def remove_reply(context: PageContext, reply_id: str) -> str:
    context.entry.detail = name = await changes.remove_reply(context.workspace, reply_id)
    return f"“{name}” is removed."


@action("/inbox/{conversation_id}/{operation}", role="agent", shown_on=inbox)
async def do(context: PageContext, conversation_id: str, operation: str) -> None:
    if operation not in _OPERATIONS:
        raise Invalid(f"A conversation can be: {', '.join(_OPERATIONS)}.")
    back = await bots.session(context.workspace, conversation_id) if operation == "give-back" else None
    async with context.change(f"conversation.{operation.replace('-', '_')}", conversation_id):
        if back:  # and the bot goes on
            await runtime.hand_back(back, context.me.user_id)
        else:
            await _OPERATIONS[operation](context.workspace, conversation_id, context.me.user_id)


def _wanted(context: PageContext) -> inbox_reads.Wanted:
    """The filters in the address; what cannot be meant is left out."""
    query = context.query
    look = query.text("show") if query.text("show") in _PLACES else None
    bot_id = query.text("bot") if ids.is_id("bot", query.text("bot")) else ""
    tag = " ".join(query.text("tag").split()).lower()[:40]
    return inbox_reads.Wanted(cast(inbox_reads.Place | None, look), bot_id, tag, query.text("sort") == "longest")
