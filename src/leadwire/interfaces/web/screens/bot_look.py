"""How a bot's chat looks on websites, and the trial chat: the widget itself, with the draft, in a frame."""

from collections.abc import Callable
from typing import Any, Final

import msgspec
from litestar import Response

from leadwire.domain.bots import changes, reads
from leadwire.domain.bots.flow import library
from leadwire.domain.bots.flow.nodes import Flow
from leadwire.domain.bots.flow.parse import BadFlow, parse_stored
from leadwire.domain.bots.look import LANGUAGES, Look
from leadwire.domain.bots.schema import BotDetail
from leadwire.domain.bots.visitors import faq, preview
from leadwire.domain.bots.visitors.opening import opening
from leadwire.infrastructure import cpu_work
from leadwire.interfaces.http import body
from leadwire.interfaces.web import security
from leadwire.interfaces.web.forms import Form
from leadwire.interfaces.web.routes import PageContext, PageResponse, Values, action, screen

_LARGEST: Final = 1024 * 1024  # bytes of a trial conversation


@screen("/bots/{bot_id}/look", "bots/look.html")
async def look(context: PageContext, bot_id: str) -> Values:
    """How the chat looks and when it shows itself, beside the chat."""
    bot = await reads.detail(context.workspace, bot_id)
    present = await reads.look(context.workspace, bot_id)
    values = msgspec.structs.asdict(present) | {"color": bot.color}
    values |= {name: "\n".join(value) for name, value in values.items() if isinstance(value, tuple)}
    if context.refusal:
        values = {name: context.form.raw(name) for name in values}
    languages = {"flow": "As in the flow", "browser": "As the visitor's browser"}
    languages |= {name: told for name, told in LANGUAGES.items() if name == present.language}
    return {"tab": "look", "bot": bot, "values": values, "languages": languages, "kept": [present, bot.color]}


@action("/bots/{bot_id}/look", shown_on=look, audit="bot.look_changed")
async def save_look(context: PageContext, bot_id: str) -> str:
    before = await reads.look(context.workspace, bot_id)
    after = _look(context.form, before)
    await changes.set_look(context.workspace, bot_id, after, *map(context.form.text, ("color", "seen")))
    changed = [name for name, value in msgspec.structs.asdict(after).items() if value != getattr(before, name)]
    context.entry.detail = f"color: {context.form.text('color')}; changed: {', '.join(changed) or 'nothing else'}"
    return "Saved. Websites show it from the next page on."


@screen("/bots/{bot_id}/trial")
async def trial(context: PageContext, bot_id: str) -> PageResponse:
    """The page in the frame. `open`: with the chat open."""
    bot = await reads.detail(context.workspace, bot_id)
    page = await context.render("bots/trial.html", bot=bot, opened=context.query.on("open"))
    page.headers.update(security.FRAMED)
    return page


@screen("/bots/{bot_id}/trial/config")
async def trial_config(context: PageContext, bot_id: str) -> PageResponse:
    """What the widget there needs to open; with the fields of the form, it looks as they say."""
    bot, query = await reads.detail(context.workspace, bot_id), context.query
    flow = await usable(bot) or parse_stored(library.text(library.NAMES[0]))  # something to look at
    present = await reads.look(context.workspace, bot_id)
    present = _look(query, present) if query else present
    accepted = context.request.headers.get("accept-language", "")
    return _json(opening(bot.id, flow, query.text("color") or bot.color, present, accepted))


@action("/bots/{bot_id}/trial", role="viewer", largest=_LARGEST)
async def trial_turn(context: PageContext, bot_id: str) -> PageResponse:
    """Everything said so far (`said`) through the draft; `person`: and then the visitor asked for a person."""
    bot = await reads.detail(context.workspace, bot_id)
    said = [text[:4000] for text in context.form.all("said") if text.strip()]
    flow, person = await _parsed(bot), context.form.on("person")
    return _json(await preview.run(context.workspace, bot.id, flow, said, faq.answer, person=person))


def _look(form: Form, before: Look) -> Look:
    """What the form says; what it is empty for is as in a new look, and what it lacks as `before`. Raise Invalid."""
    reads: dict[type, Callable[[str], Any]] = {
        str: form.text,
        int: form.number,
        bool: form.on,
        tuple: lambda name: list(filter(None, map(str.strip, form.text(name).split("\n")))),
    }
    present = msgspec.structs.asdict(before)
    values = {name: reads[type(was)](name) if form.has(name) else was for name, was in present.items()}
    return body.fields({name: value for name, value in values.items() if value not in ("", None)}, Look)


async def usable(bot: BotDetail) -> Flow | None:
    """The draft, if it can run."""
    try:
        return await _parsed(bot)
    except BadFlow:
        return None


async def _parsed(bot: BotDetail) -> Flow:
    draft = bot.draft or ""
    return await cpu_work.of_text(draft, parse_stored, draft)


def _json(value: msgspec.Struct) -> PageResponse:
    headers = {"Cache-Control": "no-store", **security.HEADERS}
    return Response(msgspec.json.encode(value), media_type="application/json", headers=headers)
