"""Saved replies: everybody who answers visitors reads and writes them."""

from typing import Any

from litestar import Response

from leadwire.domain.accounts.changes import audit
from leadwire.domain.conversations import inbox
from leadwire.domain.conversations.changes import saved_replies
from leadwire.interfaces.web.page_context import PageContext
from leadwire.interfaces.web.routes import action, screen


@screen("/inbox/replies", role="agent")
async def replies(context: PageContext) -> Response[str]:
    """All of them, and the form for another."""
    return await context.render("inbox/replies.html", replies=await inbox.saved_replies(context.workspace))


@action("/inbox/replies", role="agent", shown_on=replies)
async def add(context: PageContext) -> Response[Any]:
    """Another one."""
    name = context.form.text("name")
    async with audit.transaction(context.me, "saved_reply.added", detail=name) as entry:
        entry.subject = await saved_replies.add(context.workspace, name, context.form.raw("content"))
    return await context.redirect("/inbox/replies", f"“{name}” is in the inbox now.")


@action("/inbox/replies/{reply_id:str}/remove", role="agent", shown_on=replies)
async def remove(context: PageContext) -> Response[Any]:
    """One less."""
    async with audit.transaction(context.me, "saved_reply.removed", context.path_param("reply_id")) as entry:
        entry.detail = await saved_replies.remove(context.workspace, context.path_param("reply_id"))
    return await context.redirect("/inbox/replies", f"“{entry.detail}” is removed.")
