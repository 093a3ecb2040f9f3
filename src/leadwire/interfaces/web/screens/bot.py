"""One bot beyond its flow: trying it, what it was taught, and how a website shows it."""

from typing import Any

from litestar import Response

from leadwire.domain.accounts import audit
from leadwire.domain.bots import changes, off_loop, preview, reads
from leadwire.domain.bots.faq import Faq
from leadwire.domain.bots.parse import stored
from leadwire.infrastructure.errors import Invalid
from leadwire.interfaces.web.page_context import Visit, public_url
from leadwire.interfaces.web.routes import action, screen


@screen("/bots/{bot_id:str}/preview")
async def trial(visit: Visit) -> Response[str]:
    """A chat with the draft; everything said so far is in the address, and nothing is kept."""
    one = await reads.detail(visit.workspace, visit.part("bot_id"))
    said = [text[:4000] for text in visit.query.all("said") if text.strip()]
    flow = await off_loop.run(stored, one.draft) if one.draft else None
    talk = await preview.talk(visit.workspace, one.id, flow, said, Faq()) if flow else None
    return await visit.page("bots/preview.html", tab="preview", bot=one, talk=talk, said=said)


@screen("/bots/{bot_id:str}/knowledge")
async def knowledge(visit: Visit) -> Response[str]:
    """Questions and answers."""
    one = await reads.detail(visit.workspace, visit.part("bot_id"))
    return await visit.page(
        "bots/knowledge.html", tab="knowledge", bot=one, faq=await reads.faq(visit.workspace, one.id)
    )


@action("/bots/{bot_id:str}/knowledge", shown_on=knowledge)
async def teach(visit: Visit) -> Response[Any]:
    """One more answer."""
    bot_id = visit.part("bot_id")
    async with audit.act(visit.me, "bot.taught", bot_id):
        await changes.teach(visit.workspace, bot_id, visit.form.text("question"), visit.form.text("answer"))
    return await visit.back(f"/bots/{bot_id}/knowledge")


@action("/bots/{bot_id:str}/knowledge/{entry_id:str}/forget", shown_on=knowledge)
async def unteach(visit: Visit) -> Response[Any]:
    """One answer less."""
    bot_id = visit.part("bot_id")
    async with audit.act(visit.me, "bot.untaught", bot_id, visit.part("entry_id")):
        await changes.unteach(visit.workspace, visit.part("entry_id"))
    return await visit.back(f"/bots/{bot_id}/knowledge")


@screen("/bots/{bot_id:str}/install")
async def install(visit: Visit) -> Response[str]:
    """The snippet, and which websites may use it."""
    one = await reads.detail(visit.workspace, visit.part("bot_id"))
    return await visit.page("bots/install.html", tab="install", bot=one, address=public_url(visit.request))


@action("/bots/{bot_id:str}/install", shown_on=install)
async def embed(visit: Visit) -> Response[Any]:
    """Other websites, another colour."""
    bot_id, origins = visit.part("bot_id"), visit.form.text("origins").split()
    if not visit.form.text("color"):
        raise Invalid("Choose a colour.")
    async with audit.act(visit.me, "bot.embedded", bot_id, ", ".join(origins)[:500]):
        await changes.embed(visit.workspace, bot_id, origins, visit.form.text("color"))
    return await visit.back(f"/bots/{bot_id}/install", "Saved.")
