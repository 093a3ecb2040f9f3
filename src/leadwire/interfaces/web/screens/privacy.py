"""Privacy: how long what is kept, and what would go; of a person, a copy of all that is known, and the erasure."""

import asyncio
from collections.abc import AsyncIterator
from typing import Any

import msgspec

from leadwire.domain.privacy import erasure, person_copy, retention
from leadwire.infrastructure import clock, settings
from leadwire.infrastructure.errors import Invalid
from leadwire.interfaces.web import rendering
from leadwire.interfaces.web.forms import wrong
from leadwire.interfaces.web.page_context import HTML, PageContext, PageResponse
from leadwire.interfaces.web.routes import Values, action, screen
from leadwire.interfaces.web.screens import leads


@screen("/privacy", "privacy.html", role="admin")
async def privacy(context: PageContext) -> Values:
    """What is kept for how long, and the form to erase somebody."""
    most = {kind: settings.get().retention_days if kind == "events" else retention.LONGEST for kind in retention.TITLES}
    return {
        "kinds": retention.TITLES,
        "kept": await retention.kept(context.workspace),
        "most": most,
        "audit_days": settings.get().audit_retention_days,
    }


@screen("/privacy/retention", "privacy_preview.html", role="admin")
async def preview_retention(context: PageContext) -> PageResponse | Values:
    """What would go, before anything is saved."""
    context.form = context.form or context.query
    try:
        days = await _days(context)
        amounts = await retention.preview(context.workspace, days)
    except Invalid as refusal:
        context.refusal = refusal
        return await privacy.body(context)
    return {"kinds": retention.TITLES, "days": days, "amounts": amounts, "all": retention.emptied(amounts)}


@action("/privacy/retention", shown_on=preview_retention, confirmed=True, audit="retention.changed")
async def change_retention(context: PageContext) -> PageResponse:
    """What would leave nothing of a kind needs the workspace's name."""
    days, name = await _days(context), context.me.workspace_name
    if retention.emptied(await retention.preview(context.workspace, days)) and context.form.text("confirm") != name:
        raise wrong("confirm", "not_confirmed", f"Type {name} to confirm.")
    context.entry.detail = await retention.change(context.workspace, days, context.form.text("seen"))
    said = "Saved. Data that is older is deleted soon; data that gets older, within a day."
    return context.redirect("/privacy", said)


@action("/privacy/erase", shown_on=privacy, confirmed=True, audit="person.erased")
async def erase_person(context: PageContext) -> str:
    """Everything about whoever has this address is gone, at every bot of the workspace."""
    email = context.form.text("email")
    if not email or context.form.text("confirm").casefold() != email.casefold():
        raise wrong("confirm", "not_confirmed", "Type the same address twice.")
    if not (erased := await erasure.erase_person(context.workspace, email)):
        raise wrong("email", "unknown_value", "Nobody here has this address.")
    context.entry.detail = ", ".join(erased)  # ids alone: the address must not live on in the log
    return f"Erased: {len(erased)} {'lead' if len(erased) == 1 else 'leads'}."


@action("/leads/{lead_id}/export", shown_on=leads.lead, confirmed=True, download=True, audit="lead.exported")
async def export_person(context: PageContext, lead_id: str) -> PageResponse:
    """Everything that is kept of the person, as JSON or as a page to be read and printed."""
    kind = context.form.choice("format", ("json", "html"), "Choose JSON or a page.")
    lead, context.entry.detail = await person_copy.lead(context.workspace, lead_id), kind
    if kind == "json":
        return context.download(f"{lead_id}.json", "application/json", person_copy.as_json(context.workspace, lead_id))
    return context.download(f"{lead_id}.html", HTML, _as_page(context, lead), inline=True)


async def _as_page(context: PageContext, lead: dict[str, Any]) -> AsyncIterator[bytes]:
    async def part(name: str, **values: Any) -> bytes:
        values = msgspec.json.decode(msgspec.json.encode(values))  # JSON of the database, too
        page = await asyncio.to_thread(rendering.render, "leads/subject.html", {"part": name, **values})
        return page.encode()

    lead_id, way = lead["id"], lead["email"] or lead["phone"]
    at = clock.iso(clock.now())
    yield await part("begin", row=lead, way=way, at=at, workspace=context.me.workspace_name)
    for name, section in person_copy.sections().items():
        yield await part("section", section=name)
        empty = True
        async for row in section(context.workspace, lead_id):
            yield await part("row", row=row)
            empty = False
        if empty:
            yield await part("none")
    yield await part("end")


async def _days(context: PageContext) -> dict[retention.Kind, int | None]:
    kept, form = await retention.kept(context.workspace), context.form
    return {kind: form.number(kind) if form.has(kind) else days for kind, days in kept.items()}
