"""Beside a conversation of the inbox: who the visitor is, notes, tags; and the replies that are saved for all."""

from leadwire.domain.conversations import changes as conversations
from leadwire.domain.conversations import reads
from leadwire.domain.conversations.changes import inbox as changes
from leadwire.domain.leads.schema import LeadPatch
from leadwire.domain.notices import changes as notices
from leadwire.infrastructure.errors import NotFound
from leadwire.interfaces.http import body
from leadwire.interfaces.web import lead_form
from leadwire.interfaces.web.routes import PageContext, Values, action, screen
from leadwire.interfaces.web.screens import inbox
from leadwire.interfaces.web.screens.leads import save


@action("/inbox/{conversation_id}/note", role="agent", shown_on=inbox.inbox)
async def note(context: PageContext, conversation_id: str) -> None:
    """A note for colleagues; those whom it mentions are told."""
    content = context.form.raw("note")
    await notices.note(context.workspace, conversation_id, context.me.user_id, content, context.me.email)


@action("/inbox/{conversation_id}/tag", role="agent", shown_on=inbox.inbox)
async def tag(context: PageContext, conversation_id: str) -> None:
    await changes.tag(context.workspace, conversation_id, context.form.text("add"))


@action("/inbox/{conversation_id}/untag", role="agent", shown_on=inbox.inbox)
async def untag(context: PageContext, conversation_id: str) -> None:
    await changes.untag(context.workspace, conversation_id, context.form.raw("remove"))


@action("/inbox/{conversation_id}/lead", role="agent", shown_on=inbox.inbox, audit="lead.updated")
async def edit_lead(context: PageContext, conversation_id: str) -> None:
    """Correct how to reach the visitor."""
    conversation = await reads.detail(context.workspace, conversation_id)
    if conversation.lead is None:
        raise NotFound("This visitor is no lead yet.")
    await save(context, conversation.lead.id, lead_form.contact(context.form, conversation.lead))


@action("/inbox/{conversation_id}/new-lead", role="agent", shown_on=inbox.inbox, audit="lead.captured")
async def add_lead(context: PageContext, conversation_id: str) -> str:
    """Make a lead of a visitor who has said how to reach them, as the flow would."""
    values = {name: context.form.text(name) for name in ("email", "name") if context.form.text(name)}
    lead = await conversations.capture_lead(context.workspace, conversation_id, body.fields(values, LeadPatch))
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
