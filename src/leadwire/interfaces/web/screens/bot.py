"""One bot beyond its flow: trying it, what it was taught, and how a website shows it."""

from typing import Any

from litestar import Response

from leadwire.domain.accounts.changes import audit
from leadwire.domain.bots import changes, preview, reads
from leadwire.domain.bots.changes import faq
from leadwire.domain.bots.faq import Faq
from leadwire.domain.bots.parse import parse_stored
from leadwire.infrastructure import cpu_work
from leadwire.infrastructure.errors import Invalid
from leadwire.interfaces.web import security
from leadwire.interfaces.web.page_context import PageContext
from leadwire.interfaces.web.routes import action, screen


@screen("/bots/{bot_id:str}/preview")
async def trial(context: PageContext) -> Response[str]:
    """A chat with the draft; everything said so far is in the address, and nothing is kept."""
    one = await reads.detail(context.workspace, context.path_param("bot_id"))
    said = [text[:4000] for text in context.query.all("said") if text.strip()]
    flow = await cpu_work.run(parse_stored, one.draft) if one.draft else None
    talk = await preview.talk(context.workspace, one.id, flow, said, Faq()) if flow else None
    return await context.render("bots/preview.html", tab="preview", bot=one, talk=talk, said=said)


@screen("/bots/{bot_id:str}/knowledge")
async def knowledge(context: PageContext) -> Response[str]:
    """Questions and answers."""
    one = await reads.detail(context.workspace, context.path_param("bot_id"))
    return await context.render(
        "bots/knowledge.html", tab="knowledge", bot=one, faq=await reads.faq(context.workspace, one.id)
    )


@action("/bots/{bot_id:str}/knowledge", shown_on=knowledge)
async def teach(context: PageContext) -> Response[Any]:
    """One more answer."""
    bot_id = context.path_param("bot_id")
    async with audit.transaction(context.me, "bot.taught", bot_id):
        await faq.add(context.workspace, bot_id, context.form.text("question"), context.form.text("answer"))
    return await context.redirect(f"/bots/{bot_id}/knowledge")


@action("/bots/{bot_id:str}/knowledge/{entry_id:str}/forget", shown_on=knowledge)
async def unteach(context: PageContext) -> Response[Any]:
    """One answer less."""
    bot_id = context.path_param("bot_id")
    async with audit.transaction(context.me, "bot.untaught", bot_id, context.path_param("entry_id")):
        await faq.remove(context.workspace, context.path_param("entry_id"))
    return await context.redirect(f"/bots/{bot_id}/knowledge")


@screen("/bots/{bot_id:str}/install")
async def install(context: PageContext) -> Response[str]:
    """The snippet, and which websites may use it."""
    one = await reads.detail(context.workspace, context.path_param("bot_id"))
    return await context.render(
        "bots/install.html", tab="install", bot=one, address=security.public_url(context.request)
    )


@action("/bots/{bot_id:str}/install", shown_on=install)
async def embed(context: PageContext) -> Response[Any]:
    """Other websites, another color."""
    bot_id, origins = context.path_param("bot_id"), context.form.text("origins").split()
    if not context.form.text("color"):
        raise Invalid("Choose a color.")
    async with audit.transaction(context.me, "bot.embedded", bot_id, ", ".join(origins)[:500]):
        await changes.set_appearance(context.workspace, bot_id, origins, context.form.text("color"))
    return await context.redirect(f"/bots/{bot_id}/install", "Saved.")
