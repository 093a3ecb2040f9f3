"""A bot's draft as text, TOML or JSON, and its publication."""

from typing import Final

from leadwire.domain.accounts import reads as accounts
from leadwire.domain.bots import changes, reads
from leadwire.domain.bots.builder import text_diff
from leadwire.domain.bots.changes import drafts
from leadwire.domain.bots.flow.check import FlowError
from leadwire.domain.bots.flow.parse import LARGEST, checked, read
from leadwire.domain.bots.schema import BotDetail
from leadwire.infrastructure import cpu_work
from leadwire.infrastructure.errors import Conflict
from leadwire.interfaces.web.routes import PageContext, Values, action, screen

MOST_FLAWS: Final = 50  # shown of a draft


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
    before = (await reads.detail(context.workspace, bot_id)).published_version or "none"
    note = context.form.text("note")
    version = await changes.publish(context.workspace, bot_id, draft, context.me.user_id, note)
    context.entry.action, context.entry.detail = "bot.published", f"version: {before} -> {version}"
    return f"Published: new conversations run version {version}."


def _lines(source: str, flaws: list[FlowError]) -> list[tuple[FlowError, str]]:
    """What is wrong with a text, each fault with the beginning of its line."""
    lines = source.split("\n")
    numbers = ((flaw, flaw.line or 0) for flaw in flaws[:MOST_FLAWS])
    return [(flaw, "".join(lines[max(0, number - 1) : number])[:160]) for flaw, number in numbers]
