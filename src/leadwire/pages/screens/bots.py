"""Bots: their flows, what they were taught, where they may be shown."""

import difflib
import itertools
from typing import Any

from litestar import Response

from leadwire.accounts import audit
from leadwire.bots import changes, library, reads, reference
from leadwire.bots.parse import LARGEST, BadFlow, parse
from leadwire.errors import Fault, Invalid
from leadwire.pages.flow_picture import picture
from leadwire.pages.routes import action, screen
from leadwire.pages.visit import Visit


@screen("/bots")
async def bots(visit: Visit) -> Response[str]:
    """Every bot, and the form for a new one."""
    found = await reads.listed(visit.workspace)
    details = [await reads.detail(visit.workspace, bot.id) for bot in found]
    return await visit.page("bots/list.html", bots=details, shipped=library.NAMES)


@action("/bots", shown_on=bots)
async def create(visit: Visit) -> Response[Any]:
    """A new bot, with one of the shipped flows as its draft."""
    name, flow = visit.form.text("name"), visit.form.text("flow")
    if not 1 <= len(name) <= 100:
        raise Invalid("Give the bot a name.", faults=(Fault("required", "1 to 100 characters.", "/name"),))
    if flow not in library.NAMES:
        raise Invalid("Choose what to start from.", faults=(Fault("unknown_value", "Choose one of these.", "/flow"),))
    async with audit.act(visit.me, "bot.created", detail=name) as entry:
        entry.subject = await changes.create(visit.workspace, name)
        await changes.save_draft(visit.workspace, entry.subject, library.text(flow))
    return await visit.back(f"/bots/{entry.subject}")


@screen("/bots/{bot_id:str}")
async def bot(visit: Visit) -> Response[str]:
    """The editor: the draft's text, what is wrong with it line by line, and its picture."""
    one = await reads.detail(visit.workspace, visit.part("bot_id"))
    source = visit.form.raw("source").replace("\r\n", "\n") or one.draft or ""
    try:
        flow, flaws = (parse(source) if source else None), []
    except BadFlow as bad:
        flow, flaws = None, bad.flaws
    return await visit.page(
        "bots/editor.html",
        tab="flow",
        bot=one,
        source=source,
        flaws=flaws,
        format=reference,
        drawn=picture(flow) if flow else "",
        published=next(
            (v for v in await reads.versions(visit.workspace, one.id) if v.version == one.published_version), None
        ),
    )


@action("/bots/{bot_id:str}/draft", shown_on=bot, largest=4 * LARGEST)  # encoded, a character may be three
async def save(visit: Visit) -> Response[Any]:
    """Keep the draft, and with `publish` let new conversations run it."""
    bot_id, source = visit.part("bot_id"), visit.form.raw("source").replace("\r\n", "\n")
    publish = visit.form.on("publish")
    async with audit.act(visit.me, "bot.published" if publish else "bot.draft_saved", bot_id) as entry:
        await changes.save_draft(visit.workspace, bot_id, source)
        if publish:
            entry.detail = f"version {await changes.publish(visit.workspace, bot_id)}"
    word = f"Published: new conversations run {entry.detail}." if publish else "The draft is kept."
    return await visit.back(f"/bots/{bot_id}", word)


@screen("/bots/{bot_id:str}/versions")
async def versions(visit: Visit) -> Response[str]:
    """What was published when, and what changed from one to the next."""
    one = await reads.detail(visit.workspace, visit.part("bot_id"))
    found = await reads.versions(visit.workspace, one.id)
    older = {new.version: old.source for new, old in itertools.pairwise(found)}
    return await visit.page(
        "bots/versions.html",
        tab="versions",
        bot=one,
        versions=[(version, _difference(older.get(version.version, ""), version.source)) for version in found[:50]],
    )


@action("/bots/{bot_id:str}/rollback", shown_on=versions)
async def rollback(visit: Visit) -> Response[Any]:
    """Let new conversations run a version published before; the draft stays."""
    bot_id, version = visit.part("bot_id"), visit.form.number("version") or 0
    async with audit.act(visit.me, "bot.rolled_back", bot_id, f"version {version}"):
        await changes.rollback(visit.workspace, bot_id, version)
    return await visit.back(f"/bots/{bot_id}/versions", f"New conversations run version {version}.")


def _difference(old: str, new: str) -> list[tuple[str, str]]:
    """Lines with their sign: `+`, `-`, a blank, or `@` where lines are left out. The first version is all new."""
    lines = difflib.unified_diff(old.splitlines(), new.splitlines(), lineterm="", n=2)
    return [
        ("@", "⋯") if line.startswith("@@") else (line[:1] or " ", line[1:])
        for line in lines
        if line[:3] not in ("---", "+++")
    ]
