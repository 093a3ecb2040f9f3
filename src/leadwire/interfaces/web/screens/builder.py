"""The builder: a bot's draft as a picture and a panel of fields."""

from collections.abc import Callable
from typing import Any, Final

from leadwire.domain.accounts import reads as accounts
from leadwire.domain.bots import changes, figures, reads
from leadwire.domain.bots.builder import blocks, editing, fields
from leadwire.domain.bots.builder.editing import Draft
from leadwire.domain.bots.changes import drafts
from leadwire.domain.bots.flow.nodes import MAX_NODES
from leadwire.domain.bots.flow.parse import BadFlow, checked
from leadwire.domain.conversations import pubsub
from leadwire.infrastructure import clock, cpu_work, preconditions
from leadwire.infrastructure.errors import Conflict, Invalid
from leadwire.interfaces.http import body
from leadwire.interfaces.web import flow_layout, flow_picture, live_updates, step_faults, step_labels
from leadwire.interfaces.web.routes import PageContext, PageResponse, Values, action, screen
from leadwire.interfaces.web.screens import bot_look, bots

_MOVES: Final = {"drop": None, "up": -1, "down": 1}
"""What the buttons of a row do: how far they move it, or None."""
_LARGE: Final = 16 * body.LARGEST  # of a form with all the fields that a step can have


@screen("/bots/{bot_id}", "bots/builder.html")
async def builder(context: PageContext, bot_id: str) -> Values:
    """The draft's picture and, with `step` in the address, the fields of one step; with `try`, the trial chat."""
    bot = await reads.detail(context.workspace, bot_id)
    source = bot.draft or ""
    draft, flaws = await cpu_work.of_text(source, checked, source)
    drawable = draft and editing.is_bounded(draft)
    picture = await cpu_work.of_text(source, flow_picture.picture, draft) if drawable else None
    steps = {step["id"]: step for step in editing.steps(draft)} if picture else {}
    faults = step_faults.faults(flaws[: bots.MOST_FLAWS], draft, steps)
    tried = isinstance(context.refusal, BadFlow)  # to publish it
    chosen = context.request.path_params.get("step_id") or context.query.text("step")
    chosen = next((fault.step for fault in faults if fault.step), "") if tried else chosen
    step, whole = steps.get(chosen), editing.part(draft, "")
    stored, refused = step or whole, context.refusal and (step or context.form.on("whole"))
    if step and refused:
        step = fields.filled(fields.of(str(step.get("type"))), step, _given(context))
    elif refused:
        whole = editing.settings(whole, _given(context))
    if tried:
        context.refusal = Invalid(f"Not published: {len(flaws)} to finish. They are marked at their fields.")
    published = await bots.published(context.workspace, bot)
    return {
        "tab": "flow",
        "bot": bot,
        "draft": draft,
        "drawn": picture,
        "wide": flow_layout.WIDE,
        "steps": steps,
        "step": step,
        "kind": str(step.get("type", "")) if step else "",
        "whole": whole,
        "seen": (refused and context.form.text("seen")) or preconditions.digest(stored),
        "theirs": stored if refused and isinstance(context.refusal, Conflict) else None,
        "faults": faults,
        "tried": tried or context.query.on("check"),
        "trying": context.query.on("try"),
        "usable": context.query.on("try") and await bot_look.usable(bot),
        "more_flaws": max(0, len(flaws) - bots.MOST_FLAWS),
        "look": _offered(list(steps.values()), step),
        "live": bool(published) and published == bot.draft,
        "history": await reads.history(context.workspace, bot.id),
        "others": await _others(context, bot.id),
        "saver": await bots.saver(context, bot),
        "used": not step and await reads.is_used(context.workspace, bot.id),
        "counts": await figures.steps(context.workspace, bot.id, clock.now() - bots.COUNTED) if published else {},
    }


@screen("/bots/{bot_id}/live")
async def live(context: PageContext, bot_id: str) -> PageResponse:
    """Tells when the draft has changed, or who else has it open."""
    await reads.revision(context.workspace, bot_id)
    return live_updates.draft_events(drafts.channel(context.workspace, bot_id), context.me, edits=context.may("admin"))


@action("/bots/{bot_id}/publish", shown_on=builder)
async def publish(context: PageContext, bot_id: str) -> str:
    """Let new conversations run the draft."""
    draft = await changes.usable(context.workspace, bot_id)
    async with context.change("bot.published", bot_id):
        return await bots.publish(context, bot_id, draft)


@action("/bots/{bot_id}/steps", shown_on=builder)
async def add(context: PageContext, bot_id: str) -> PageResponse:
    """Another step: after another by one of its ways on, or else after the last that leads nowhere yet."""
    kind, after, way = (context.form.text(name) for name in ("kind", "after", "way"))
    step_id = ""

    def change(draft: Draft) -> Draft:
        nonlocal step_id
        draft, step_id = editing.add(draft, kind, *((after, way) if after else fields.open_end(editing.steps(draft))))
        return draft

    await _edit(context, bot_id, change)
    return _to_step(context, bot_id, step_id)


@action("/bots/{bot_id}/steps/{step_id}", shown_on=builder, largest=_LARGE)
async def fill(context: PageContext, bot_id: str, step_id: str) -> PageResponse:
    """Fill in a step's fields; then add, remove or move one of its rows, copy it or delete it."""
    next_id, seen = step_id, context.form.text("seen")

    def change(draft: Draft) -> Draft:
        nonlocal next_id
        deed, values = context.form.text("do"), _given(context)
        if deed == "delete":
            next_id = ""
            return editing.delete(draft, step_id)
        stale = seen and preconditions.digest(editing.step(draft, step_id)) != seen
        draft, next_id = editing.change(draft, step_id, editing.unrepeated(draft, step_id, values) if stale else values)
        ways = {way: target for way, target, _ in fields.exits(editing.step(draft, next_id)) if "/" not in way}
        onward = [str(target) for way, target in ways.items() if values.get(way, "").startswith(editing.NEW)]
        draft = _with_rows(context, draft, next_id)
        if deed == "duplicate":
            draft, next_id = editing.duplicate(draft, next_id)
        elif onward:
            next_id = onward[-1]
        return draft

    await _edit(context, bot_id, change, step_id)
    return _to_step(context, bot_id, next_id)


@action("/bots/{bot_id}/wire", shown_on=builder)
async def wire(context: PageContext, bot_id: str) -> PageResponse:
    """Let a step lead to another."""
    step_id, way, target = (context.form.text(name) for name in ("step", "way", "to"))
    await _edit(context, bot_id, lambda draft: editing.wire(draft, step_id, way, target))
    return _to_step(context, bot_id, step_id)


@action("/bots/{bot_id}/settings", shown_on=builder, largest=_LARGE)
async def settings(context: PageContext, bot_id: str) -> PageResponse:
    """Fill in what holds for the whole flow; add or remove one of its rows."""
    values = _given(context)
    await _edit(context, bot_id, lambda draft: _with_rows(context, editing.settings(draft, values), ""), "")
    return context.redirect(f"/bots/{bot_id}?whole=1")


@action("/bots/{bot_id}/undo", shown_on=builder)
async def undo(context: PageContext, bot_id: str) -> PageResponse:
    """Take the last change of the draft back, or bring it back."""
    await drafts.undo(context.workspace, bot_id, context.me.user_id, redo=context.form.on("redo"))
    await context.note_edit("bot.draft_saved", bot_id)
    return _to_step(context, bot_id, context.form.text("step"))


@action("/bots/{bot_id}/about", shown_on=builder, audit="bot.renamed")
async def describe(context: PageContext, bot_id: str) -> str:
    """Rename a bot and say what it is for."""
    context.entry.detail = name = context.form.required_name("Give the bot a name.")
    await changes.describe(context.workspace, bot_id, name, *map(context.form.text, ("description", "seen")))
    return "Saved."


@action("/bots/{bot_id}/state", shown_on=builder)
async def change_state(context: PageContext, bot_id: str) -> PageResponse:
    """Pause, resume, archive, restore or delete a bot."""
    deed = context.form.choice("to", changes.DEEDS, "Choose what to do with the bot.")
    async with context.change(f"bot.{deed}", bot_id):
        context.entry.detail = (await reads.detail(context.workspace, bot_id)).name
        await changes.change_state(context.workspace, bot_id, deed)
    return context.redirect("/bots" if deed in ("archived", "deleted") else f"/bots/{bot_id}", f"The bot is {deed}.")


@action("/bots/{bot_id}/duplicate", shown_on=builder, audit="bot.created")
async def duplicate(context: PageContext, bot_id: str) -> PageResponse:
    """Another bot with the same draft and knowledge."""
    bot = await reads.detail(context.workspace, bot_id)
    context.entry.detail = name = f"Copy of {bot.name}"[:100]
    context.entry.subject = copy = await changes.duplicate(context.workspace, bot_id, name)
    return context.redirect(f"/bots/{copy}", "This is the copy. It is not published, and no website shows it.")


def _offered(steps: list[fields.Step], step: fields.Step | None) -> dict[str, Any]:
    """What the panel of a step, or of the whole flow, says and offers."""
    own = sorted({str(step["save_to"]) for step in steps if str(step.get("save_to", "")).startswith("custom_fields.")})
    labels = [str(row.get("value", row.get("label", ""))) for step in steps for row in fields.rows(step.get("options"))]
    return {
        "words": step_labels,
        "fields": fields,
        "steps": {step["id"]: step_labels.named(step) for step in steps},
        "full": len(steps) >= MAX_NODES,
        "variables": step_labels.known(steps) if step else {},
        "answers": step.get("options") if step else None,
        "saved": {**step_labels.SAVED, **{name: f"Field: {name.partition('.')[2]}" for name in own}},
        "texts": list(dict.fromkeys(filter(None, labels)))[:100],
        "choices": step_labels.choices,
        "offered": step_labels.answers(steps),
        "blocks": blocks.offered(),
    }


async def _edit(context: PageContext, bot_id: str, change: Callable[[Draft], Draft], part: str | None = None) -> None:
    """Edit the draft; with `part`, only if what the form has shown of it is still there, unless theirs may go."""
    digest = "" if context.form.on("mine") else context.form.text("seen")
    seen = (part, digest) if part is not None and digest else None
    asks = {"consent", f"{editing.NEW}consent"}.intersection(value for _, value in context.form.pairs)
    privacy = await reads.privacy_page(context.workspace) if asks else ""

    def changed(draft: Draft) -> Draft:
        return blocks.with_privacy(change(draft), privacy) if privacy else change(draft)

    await drafts.edit(context.workspace, bot_id, context.me.user_id, changed, seen, context.form.text("tab")[:16])
    await context.note_edit("bot.draft_saved", bot_id)


def _with_rows(context: PageContext, draft: Draft, step_id: str) -> Draft:
    """Add, remove or move the row of a list that a button of the form names."""
    if path := context.form.text("add"):
        draft = editing.add_row(draft, step_id, path)
    for button, by in _MOVES.items():
        if path := context.form.text(button):
            draft = editing.move_row(draft, step_id, path, by)
    return draft


def _to_step(context: PageContext, bot_id: str, step_id: str) -> PageResponse:
    return context.redirect(context.link(f"/bots/{bot_id}", step=step_id))


def _given(context: PageContext) -> dict[str, str]:
    """What was filled in, by the names of the fields; of boxes with the same name one a line."""
    values: dict[str, str] = {}
    for name, value in context.form.pairs:
        values[name] = f"{values[name]}\n{value}" if name in values else value
    return values


async def _others(context: PageContext, bot_id: str) -> list[str]:
    here = pubsub.hub.lookers.of(drafts.channel(context.workspace, bot_id)) - {context.me.user_id}
    return [person.called for person in await accounts.users(context.workspace) if person.id in here] if here else []
