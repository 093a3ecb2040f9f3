"""Bots: their flows, trying one, what they were taught, and how a website shows them."""

from typing import Any, Final

from litestar import Response

from leadwire.domain.accounts.changes import audit
from leadwire.domain.bots import changes, library, preview, reads, text_diff
from leadwire.domain.bots.changes import faq
from leadwire.domain.bots.check import FlowError
from leadwire.domain.bots.faq import Faq
from leadwire.domain.bots.parse import LARGEST, BadFlow, parse, parse_stored
from leadwire.infrastructure import cpu_work
from leadwire.infrastructure.errors import Invalid
from leadwire.interfaces.web import flow_reference, security
from leadwire.interfaces.web.flow_picture import picture
from leadwire.interfaces.web.page_context import PageContext
from leadwire.interfaces.web.routes import action, screen

_FLAWS: Final = 50  # shown of a draft


@screen("/bots")
async def bots(context: PageContext) -> Response[str]:
    """Every bot, and the form for a new one."""
    return await context.render("bots/list.html", bots=await reads.listed(context.workspace), shipped=library.NAMES)


@action("/bots", shown_on=bots)
async def create(context: PageContext) -> Response[Any]:
    """A new bot, with one of the shipped flows as its draft."""
    name = context.form.required_name("Give the bot a name.")
    flow = context.form.choice("flow", library.NAMES, "Choose what to start from.")
    async with audit.transaction(context.me, "bot.created", detail=name) as entry:
        entry.subject = await changes.create(context.workspace, name)
        await changes.save_draft(context.workspace, entry.subject, library.text(flow))
    return await context.redirect(f"/bots/{entry.subject}")


@screen("/bots/{bot_id:str}")
async def bot(context: PageContext) -> Response[str]:
    """The editor: the draft's text, what is wrong with it line by line, and its picture."""
    one = await reads.detail(context.workspace, context.path_param("bot_id"))
    source = context.form.raw("source").replace("\r\n", "\n") or one.draft or ""
    drawn, flaws = await cpu_work.run(_read, source)
    published = one.published_version and (await reads.source(context.workspace, one.id, one.published_version))[0]
    return await context.render(
        "bots/editor.html",
        tab="flow",
        bot=one,
        source=source,
        flaws=flaws,
        format=flow_reference,
        drawn=drawn,
        published=published,
    )


@action("/bots/{bot_id:str}/draft", shown_on=bot, largest=4 * LARGEST)  # encoded, a character may be three
async def save(context: PageContext) -> Response[Any]:
    """Keep the draft, and with `publish` let new conversations run it."""
    bot_id, source = context.path_param("bot_id"), context.form.raw("source").replace("\r\n", "\n")
    publish = context.form.on("publish")
    async with audit.transaction(context.me, "bot.published" if publish else "bot.draft_saved", bot_id) as entry:
        await changes.save_draft(context.workspace, bot_id, source)
        if publish:
            entry.detail = f"version {await changes.publish(context.workspace, bot_id)}"
    word = f"Published: new conversations run {entry.detail}." if publish else "The draft is kept."
    return await context.redirect(f"/bots/{bot_id}", word)


@screen("/bots/{bot_id:str}/versions")
async def versions(context: PageContext) -> Response[str]:
    """What was published when, and what the chosen version (`version`, else the newest) changed."""
    one = await reads.detail(context.workspace, context.path_param("bot_id"))
    found = (await reads.versions(context.workspace, one.id))[:50]
    shown = context.query.number("version") or (found[0].version if found else 0)
    changed = None
    if shown in {version.version for version in found}:
        new, old = await reads.source(context.workspace, one.id, shown)
        changed = await cpu_work.run(text_diff.compare, old, new)
    return await context.render(
        "bots/versions.html", tab="versions", bot=one, versions=found, shown=shown, changed=changed
    )


@action("/bots/{bot_id:str}/rollback", shown_on=versions)
async def rollback(context: PageContext) -> Response[Any]:
    """Let new conversations run a version published before; the draft stays."""
    bot_id, version = context.path_param("bot_id"), context.form.number("version") or 0
    async with audit.transaction(context.me, "bot.rolled_back", bot_id, f"version {version}"):
        await changes.rollback(context.workspace, bot_id, version)
    return await context.redirect(f"/bots/{bot_id}/versions", f"New conversations run version {version}.")


@screen("/bots/{bot_id:str}/preview")
async def trial(context: PageContext) -> Response[str]:
    """A chat with the draft; everything said so far is in the address, and nothing is kept."""
    one = await reads.detail(context.workspace, context.path_param("bot_id"))
    said = [text[:4000] for text in context.query.all("said") if text.strip()]
    flow = await cpu_work.run(parse_stored, one.draft) if one.draft else None
    conversation = await preview.run(context.workspace, one.id, flow, said, Faq()) if flow else None
    return await context.render("bots/preview.html", tab="preview", bot=one, conversation=conversation, said=said)


@screen("/bots/{bot_id:str}/knowledge")
async def knowledge(context: PageContext) -> Response[str]:
    """Questions and answers."""
    one = await reads.detail(context.workspace, context.path_param("bot_id"))
    entries = await reads.faq(context.workspace, one.id)
    return await context.render("bots/knowledge.html", tab="knowledge", bot=one, faq=entries)


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
    address = security.public_url(context.request)
    return await context.render("bots/install.html", tab="install", bot=one, address=address)


@action("/bots/{bot_id:str}/install", shown_on=install)
async def embed(context: PageContext) -> Response[Any]:
    """Other websites, another color."""
    bot_id, origins = context.path_param("bot_id"), context.form.text("origins").split()
    if not context.form.text("color"):
        raise Invalid("Choose a color.")
    async with audit.transaction(context.me, "bot.embedded", bot_id, ", ".join(origins)[:500]):
        await changes.set_appearance(context.workspace, bot_id, origins, context.form.text("color"))
    return await context.redirect(f"/bots/{bot_id}/install", "Saved.")


def _read(source: str) -> tuple[str, list[tuple[FlowError, str]]]:
    """The picture of a flow, or what is wrong with it, each with the beginning of its line."""
    try:
        return (picture(parse(source)) if source else ""), []
    except BadFlow as bad:
        lines = source.split("\n")
        numbers = ((flaw, flaw.line or 0) for flaw in bad.flaws[:_FLAWS])
        return "", [(flaw, "".join(lines[max(0, number - 1) : number])[:160]) for flaw, number in numbers]
