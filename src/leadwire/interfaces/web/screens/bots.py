"""Bots: their versions, the draft as text, TOML or JSON, what they were taught, and which websites show them."""

from datetime import timedelta
from typing import Final

from leadwire.domain.accounts import reads as accounts
from leadwire.domain.bots import changes, figures, reads
from leadwire.domain.bots.builder import text_diff
from leadwire.domain.bots.changes import drafts
from leadwire.domain.bots.flow import library
from leadwire.domain.bots.flow.check import FlowError
from leadwire.domain.bots.flow.parse import LARGEST, checked, read
from leadwire.domain.bots.schema import BotDetail
from leadwire.infrastructure import clock, cpu_work
from leadwire.infrastructure.errors import Conflict
from leadwire.interfaces.web import flow_changes, security
from leadwire.interfaces.web.routes import PageContext, PageResponse, Values, action, screen

MOST_FLAWS: Final = 50  # shown of a draft
COUNTED: Final = timedelta(days=30)


@screen("/bots", "bots.html")
async def bots(context: PageContext) -> Values:
    """Every bot, how it did lately, and the form for a new one."""
    counts = await figures.by_bot(context.workspace, (clock.now() - COUNTED).date())
    listed = await reads.listed(context.workspace)
    return {"bots": listed, "counts": counts, "shipped": library.NAMES}


@action("/bots", shown_on=bots)
async def create(context: PageContext) -> PageResponse:
    """A new bot: blank, or with one of the shipped flows as its draft."""
    name = context.form.required_name("Give the bot a name.")
    flow = context.form.choice("flow", ("blank", *library.NAMES), "Choose what to start from.")
    source = library.BLANK if flow == "blank" else library.text(flow, await reads.privacy_page(context.workspace))
    async with context.change("bot.created"):
        context.entry.detail, context.entry.subject = name, await changes.create(context.workspace, name)
        bot_id = context.entry.subject
        await drafts.keep(context.workspace, bot_id, source, context.me.user_id)
    return context.redirect(f"/bots/{bot_id}")


@screen("/bots/{bot_id}/versions", "bots/versions.html")
async def versions(context: PageContext, bot_id: str) -> Values:
    """What the draft would change, what was published by whom, and what the chosen version (`version`, else the newest)
    changed.
    """
    bot = await reads.detail(context.workspace, bot_id)
    rows = (await reads.versions(context.workspace, bot.id))[:50]
    number = context.query.number("version") or (rows[0].version if rows else 0)
    last = bot.published_version or (rows[0].version if rows else 0)
    published = (await reads.source(context.workspace, bot.id, last))[0] if last else ""
    return {
        "tab": "versions",
        "bot": bot,
        "versions": rows,
        "shown": number,
        "changed": await _compared(*await reads.source(context.workspace, bot.id, number)) if rows else None,
        "pending": await _compared(bot.draft, published) if bot.draft and bot.draft != published else None,
        "people": {person.id: person.called for person in await accounts.users(context.workspace)},
    }


async def _compared(new: str, old: str) -> flow_changes.Compared:
    return await cpu_work.of_text(old + new, flow_changes.of_texts, old, new)


@action("/bots/{bot_id}/rollback", shown_on=versions)
async def rollback(context: PageContext, bot_id: str) -> str:
    """Let new conversations run a version published before; the draft stays."""
    version = context.form.number("version") or 0
    await reads.flow(context.workspace, bot_id, version)
    async with context.change("bot.rolled_back", bot_id):
        before = (await reads.detail(context.workspace, bot_id)).published_version
        context.entry.detail = f"version: {before} -> {version}"
        await changes.rollback(context.workspace, bot_id, version)
    return f"New conversations run version {version}."


@screen("/bots/{bot_id}/text", "bots/text.html")
async def text(context: PageContext, bot_id: str) -> Values:
    """The same draft as text, and what is wrong with it line by line."""
    bot = await reads.detail(context.workspace, bot_id)
    typed = context.form.raw("source").replace("\r\n", "\n")
    source = typed or bot.draft or ""
    flaws = (await cpu_work.of_text(source, checked, source))[1] if source else []
    theirs = None
    if isinstance(context.refusal, Conflict):
        theirs = await cpu_work.of_text(source, text_diff.compare, source, bot.draft or "")
    return {
        "tab": "text",
        "bot": bot,
        "source": source,
        "flaws": _lines(source, flaws),
        "theirs": theirs,
        "published": await published(context.workspace, bot),
        "saver": await saver(context, bot),
    }


@action("/bots/{bot_id}/draft", shown_on=text, largest=4 * LARGEST)
async def save(context: PageContext, bot_id: str) -> str:
    """Keep a text as the draft, and with `publish` let new conversations run it."""
    source = context.form.raw("source").replace("\r\n", "\n")
    revision = None if context.form.on("mine") else context.form.number("revision")
    publishes = context.form.on("publish")
    await (changes.usable(context.workspace, bot_id, source) if publishes else cpu_work.of_text(source, read, source))
    async with context.change("bot.draft_saved", bot_id):
        await drafts.keep(context.workspace, bot_id, source, context.me.user_id, revision)
        return await publish(context, bot_id, source) if publishes else "The draft is saved."


@screen("/bots/{bot_id}/knowledge", "bots/knowledge.html")
async def knowledge(context: PageContext, bot_id: str) -> Values:
    bot = await reads.detail(context.workspace, bot_id)
    return {"tab": "knowledge", "bot": bot, "faq": await reads.faq(context.workspace, bot.id)}


@action("/bots/{bot_id}/knowledge", shown_on=knowledge, audit="bot.taught")
async def teach(context: PageContext, bot_id: str) -> None:
    context.entry.detail = question = context.form.text("question")
    await changes.add_faq_entry(context.workspace, bot_id, question, context.form.text("answer"))


@action("/bots/{bot_id}/knowledge/{entry_id}/forget", shown_on=knowledge, audit="bot.untaught")
async def unteach(context: PageContext, bot_id: str, entry_id: str) -> None:
    context.entry.detail = entry_id
    await changes.remove_faq_entry(context.workspace, bot_id, entry_id)


@screen("/bots/{bot_id}/install", "bots/install.html")
async def install(context: PageContext, bot_id: str) -> Values:
    """The snippet, and which websites may use it."""
    bot = await reads.detail(context.workspace, bot_id)
    return {"tab": "install", "bot": bot, "address": security.public_url(context.request)}


@action("/bots/{bot_id}/install", shown_on=install, audit="bot.embedded")
async def embed(context: PageContext, bot_id: str) -> str:
    origins = context.form.text("origins").split()
    before = await reads.detail(context.workspace, bot_id)
    context.entry.detail = f"websites: {' '.join(before.allowed_origins) or 'none'} -> {' '.join(origins) or 'none'}"
    await changes.set_origins(context.workspace, bot_id, origins, context.form.text("seen"))
    return "Saved."


@action("/bots/{bot_id}/identity", shown_on=install, confirmed=True, audit="bot.identity_secret_made")
async def make_identity_secret(context: PageContext, bot_id: str) -> PageResponse:
    """What the website signs identities with, on the one page that ever shows it."""
    secret = await changes.make_identity_secret(context.workspace, bot_id)
    crumbs = [("/bots", "Bots"), (f"/bots/{bot_id}/install", (await reads.detail(context.workspace, bot_id)).name)]
    besides = "Your server signs with it; what was signed with the one before is refused from now on."
    return await context.render("once.html", 201, title="The secret", crumbs=crumbs, besides=besides, secret=secret)


async def published(workspace: str, bot: BotDetail) -> str:
    """The text that visitors see; empty while there is none."""
    return (await reads.source(workspace, bot.id, bot.published_version))[0] if bot.published_version else ""


async def saver(context: PageContext, bot: BotDetail) -> str:
    """Who saved the draft: `you`, an e-mail address, or empty for nobody on a screen."""
    if bot.draft_saved_by in (None, context.me.user_id):
        return "you" if bot.draft_saved_by else ""
    people = await accounts.users(context.workspace)
    return next((person.called for person in people if person.id == bot.draft_saved_by), "somebody")


async def publish(context: PageContext, bot_id: str, draft: str) -> str:
    """Publish the draft, which is usable, and note it as the change's entry in the audit log. Return what to say."""
    bot = await reads.detail(context.workspace, bot_id)
    version = await changes.publish(context.workspace, bot_id, draft, context.me.user_id, context.form.text("note"))
    context.entry.action = "bot.published"
    context.entry.detail = f"version: {bot.published_version or 'none'} -> {version}"
    onward = "" if bot.allowed_origins else " No website may show it yet: name yours under Website, Install."
    return f"Published: new conversations run version {version}.{onward}"


def _lines(source: str, flaws: list[FlowError]) -> list[tuple[FlowError, str]]:
    """What is wrong with a text, each fault with the beginning of its line."""
    lines = source.split("\n")
    numbers = ((flaw, flaw.line or 0) for flaw in flaws[:MOST_FLAWS])
    return [(flaw, "".join(lines[max(0, number - 1) : number])[:160]) for flaw, number in numbers]
