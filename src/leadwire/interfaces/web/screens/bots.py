"""Bots: their flows, what they were taught, and which websites show them."""

from typing import Final

from leadwire.domain.bots import changes, library, reads, text_diff
from leadwire.domain.bots.check import FlowError
from leadwire.domain.bots.parse import LARGEST, BadFlow, parse
from leadwire.infrastructure import cpu_work
from leadwire.interfaces.web import flow_reference, security
from leadwire.interfaces.web.charts import Picture, picture
from leadwire.interfaces.web.page_context import PageContext, PageResponse
from leadwire.interfaces.web.routes import action, screen

_FLAWS: Final = 50  # shown of a draft


@screen("/bots")
async def bots(context: PageContext) -> PageResponse:
    """Every bot, and the form for a new one."""
    return await context.render("bots/list.html", bots=await reads.listed(context.workspace), shipped=library.NAMES)


@action("/bots", shown_on=bots, audit="bot.created")
async def create(context: PageContext) -> PageResponse:
    """A new bot, with one of the shipped flows as its draft."""
    context.entry.detail = name = context.form.required_name("Give the bot a name.")
    flow = context.form.choice("flow", library.NAMES, "Choose what to start from.")
    context.entry.subject = bot_id = await changes.create(context.workspace, name)
    await changes.save_draft(context.workspace, bot_id, library.text(flow))
    return context.redirect(f"/bots/{bot_id}")


@screen("/bots/{bot_id}")
async def bot(context: PageContext, bot_id: str) -> PageResponse:
    """The editor: the draft's text, what is wrong with it line by line, and its picture."""
    one = await reads.detail(context.workspace, bot_id)
    source = context.form.raw("source").replace("\r\n", "\n") or one.draft or ""
    drawn, flaws = await cpu_work.run(_read, source)
    published = one.published_version and (await reads.source(context.workspace, one.id, one.published_version))[0]
    return await context.render(
        "bots/editor.html",
        tab="flow",
        bot=one,
        source=source,
        flaws=flaws,
        format=flow_reference.tables(),
        drawn=drawn,
        published=published,
    )


@action(
    "/bots/{bot_id}/draft",
    shown_on=bot,
    largest=4 * LARGEST,  # encoded, a character may be three
    audit="bot.draft_saved",
)
async def save(context: PageContext, bot_id: str) -> PageResponse:
    """Keep the draft, and with `publish` let new conversations run it."""
    await changes.save_draft(context.workspace, bot_id, context.form.raw("source").replace("\r\n", "\n"))
    if not context.form.on("publish"):
        return context.redirect(f"/bots/{bot_id}", "The draft is kept.")
    before = (await reads.detail(context.workspace, bot_id)).published_version or "none"
    version = await changes.publish(context.workspace, bot_id)
    context.entry.action, context.entry.detail = "bot.published", f"version: {before} -> {version}"
    return context.redirect(f"/bots/{bot_id}", f"Published: new conversations run version {version}.")


@screen("/bots/{bot_id}/versions")
async def versions(context: PageContext, bot_id: str) -> PageResponse:
    """What was published when, and what the chosen version (`version`, else the newest) changed."""
    one = await reads.detail(context.workspace, bot_id)
    found = (await reads.versions(context.workspace, one.id))[:50]
    shown = context.query.number("version") or (found[0].version if found else 0)
    changed = None
    if shown in {version.version for version in found}:
        new, old = await reads.source(context.workspace, one.id, shown)
        changed = await cpu_work.run(text_diff.compare, old, new)
    return await context.render(
        "bots/versions.html", tab="versions", bot=one, versions=found, shown=shown, changed=changed
    )


@action("/bots/{bot_id}/rollback", shown_on=versions, audit="bot.rolled_back")
async def rollback(context: PageContext, bot_id: str) -> PageResponse:
    """Let new conversations run a version published before; the draft stays."""
    version = context.form.number("version") or 0
    before = (await reads.detail(context.workspace, bot_id)).published_version
    context.entry.detail = f"version: {before} -> {version}"
    await changes.rollback(context.workspace, bot_id, version)
    return context.redirect(f"/bots/{bot_id}/versions", f"New conversations run version {version}.")


@screen("/bots/{bot_id}/knowledge")
async def knowledge(context: PageContext, bot_id: str) -> PageResponse:
    one = await reads.detail(context.workspace, bot_id)
    entries = await reads.faq(context.workspace, one.id)
    return await context.render("bots/knowledge.html", tab="knowledge", bot=one, faq=entries)


@action("/bots/{bot_id}/knowledge", shown_on=knowledge, audit="bot.taught")
async def teach(context: PageContext, bot_id: str) -> PageResponse:
    context.entry.detail = question = context.form.text("question")
    await changes.add_faq_entry(context.workspace, bot_id, question, context.form.text("answer"))
    return context.redirect(f"/bots/{bot_id}/knowledge")


@action("/bots/{bot_id}/knowledge/{entry_id}/forget", shown_on=knowledge, audit="bot.untaught")
async def unteach(context: PageContext, bot_id: str, entry_id: str) -> PageResponse:
    context.entry.detail = entry_id
    await changes.remove_faq_entry(context.workspace, entry_id)
    return context.redirect(f"/bots/{bot_id}/knowledge")


@screen("/bots/{bot_id}/install")
async def install(context: PageContext, bot_id: str) -> PageResponse:
    """The snippet, and which websites may use it."""
    one = await reads.detail(context.workspace, bot_id)
    address = security.public_url(context.request)
    return await context.render("bots/install.html", tab="install", bot=one, address=address)


@action("/bots/{bot_id}/install", shown_on=install, audit="bot.embedded")
async def embed(context: PageContext, bot_id: str) -> PageResponse:
    origins = context.form.text("origins").split()
    before = await reads.detail(context.workspace, bot_id)
    context.entry.detail = f"websites: {' '.join(before.allowed_origins) or 'none'} -> {' '.join(origins) or 'none'}"
    await changes.set_appearance(context.workspace, bot_id, origins, before.color)
    return context.redirect(f"/bots/{bot_id}/install", "Saved.")


def _read(source: str) -> tuple[Picture | None, list[tuple[FlowError, str]]]:
    """The picture of a flow, or what is wrong with it, each with the beginning of its line."""
    try:
        return (picture(parse(source)) if source else None), []
    except BadFlow as bad:
        lines = source.split("\n")
        numbers = ((flaw, flaw.line or 0) for flaw in bad.flaws[:_FLAWS])
        return None, [(flaw, "".join(lines[max(0, number - 1) : number])[:160]) for flaw, number in numbers]
