"""Saved replies: everybody who answers visitors reads and writes them."""

from typing import Any

from litestar import Response

from leadwire.domain.accounts import audit
from leadwire.domain.conversations import saved_replies
from leadwire.interfaces.web.page_context import Visit
from leadwire.interfaces.web.routes import action, screen


@screen("/inbox/replies", role="agent")
async def replies(visit: Visit) -> Response[str]:
    """All of them, and the form for another."""
    return await visit.page("inbox/replies.html", replies=await saved_replies.listed(visit.workspace))


@action("/inbox/replies", role="agent", shown_on=replies)
async def add(visit: Visit) -> Response[Any]:
    """Another one."""
    name = visit.form.text("name")
    async with audit.act(visit.me, "saved_reply.added", detail=name) as entry:
        entry.subject = await saved_replies.add(visit.workspace, name, visit.form.raw("content"))
    return await visit.back("/inbox/replies", f"“{name}” is in the inbox now.")


@action("/inbox/replies/{reply_id:str}/remove", role="agent", shown_on=replies)
async def remove(visit: Visit) -> Response[Any]:
    """One less."""
    async with audit.act(visit.me, "saved_reply.removed", visit.part("reply_id")) as entry:
        entry.detail = await saved_replies.remove(visit.workspace, visit.part("reply_id"))
    return await visit.back("/inbox/replies", f"“{entry.detail}” is removed.")
