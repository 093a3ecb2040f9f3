"""Leads: the list, its export and working through it, by columns, views, one cell at a time and many leads at once; one
lead, which can be corrected or erased.
"""

from typing import Final
from urllib.parse import urlencode

import msgspec

from leadwire.domain.accounts import reads as accounts
from leadwire.domain.bots import reads as bots
from leadwire.domain.bots.changes import visitor_sessions
from leadwire.domain.bulk_changes import changes as bulk_changes
from leadwire.domain.bulk_changes import reads as bulk_reads
from leadwire.domain.conversations import reads as conversations
from leadwire.domain.leads import changes, downloads, field_texts, history, reads
from leadwire.domain.leads.schema import Lead, StoredLead, custom_fields
from leadwire.domain.privacy import erasure
from leadwire.domain.views import changes as view_changes
from leadwire.domain.views import reads as saved_views
from leadwire.domain.webhooks import reads as webhooks
from leadwire.infrastructure import actor, clock
from leadwire.infrastructure.errors import Invalid
from leadwire.interfaces.web import lead_form
from leadwire.interfaces.web.forms import wrong
from leadwire.interfaces.web.routes import PageContext, PageResponse, Seen, Values, action, live, screen

_KEPT: Final = ("bot_id", "score_min", "sort", *(f"{key}{n}" for n in ("", 2, 3) for key in ("field", "test", "value")))
"""What a view keeps. Not what is searched for: that is mostly a person's name, which an erasure would have to find."""
_ALL: Final = reads.LeadSearch()


@screen("/leads", "leads/list.html")
async def leads(context: PageContext) -> Values:
    wanted = context.query_as(reads.LeadSearch)
    seen_at = clock.iso(clock.now())  # before they are read: what changes later is told apart
    views, columns = await saved_views.views(context.workspace, context.me.user_id)
    view = next((row for row in views if row["id"] == wanted.view), None)
    context.note_read("leads.listed", filters=wanted)
    return {
        "wanted": wanted,
        "seen_at": seen_at,
        "views": views,
        "view": view,
        "columns": view["columns"] if view else columns,
        "fields": await reads.field_names(context.workspace),
        "running": await bulk_reads.running(context.workspace),
        "custom": custom_fields,
        "as_text": field_texts.as_text,
        "most_columns": view_changes.MOST_COLUMNS,
        "found": await reads.search(context.workspace, wanted),
        "total": await reads.total(context.workspace, wanted),
        "bots": await bots.names(context.workspace),
    }


@action("/leads/export", role="agent", shown_on=leads, confirmed=True, download=True, audit="leads.exported")
async def export(context: PageContext) -> PageResponse:
    """What matches, or only the leads that are `ticked`."""
    wanted, ticked = context.query_as(reads.LeadSearch), context.form.all("lead")
    chosen = "ticked" if context.form.on("ticked") else "format"
    kind = context.form.choice(chosen, ("csv", "json"), "Choose CSV or JSON.")
    if chosen == "ticked":
        if not ticked:
            raise Invalid("Tick the leads to be exported.")
        wanted = reads.Among(sort=wanted.sort, ids=ticked)
    context.entry.detail = f"{kind}: {len(ticked)} chosen" if chosen == "ticked" else kind
    name = f"leads-{clock.now():%Y-%m-%d}.{kind}"
    if kind == "csv":
        names = await bots.names(context.workspace)
        return context.download(name, "text/csv", downloads.as_csv(context.workspace, wanted, names))
    return context.download(name, "application/json", downloads.as_json(context.workspace, wanted))


@action("/leads/columns", role="viewer", shown_on=leads)
async def columns(context: PageContext) -> None:
    """Which custom fields this person sees."""
    await view_changes.choose_columns(context.workspace, context.me.user_id, context.form.all("column"))


@action("/leads/views", role="agent", shown_on=leads, audit="lead_view.saved")
async def save_view(context: PageContext) -> PageResponse:
    """The present filters, order and columns, under a name."""
    wanted, shared = context.query_as(reads.LeadSearch), context.form.on("shared")
    values = {name: str(value) for name in _KEPT if (value := getattr(wanted, name)) != getattr(_ALL, name)}
    query, name = urlencode(values), context.form.text("name")
    context.entry.detail = f"{name}{', for everybody' if shared else ''}"
    chosen = context.form.all("column")
    view = await view_changes.save(context.workspace, context.me.user_id, name, query, chosen, shared=shared)
    return context.redirect(f"/leads?{query}&view={view}", "Saved.")


@action("/leads/views/{view_id}/remove", role="agent", shown_on=leads, audit="lead_view.removed")
async def remove_view(context: PageContext, view_id: str) -> str:
    me, shared = context.me.user_id, context.may("admin")
    context.entry.detail = name = await view_changes.remove(context.workspace, me, view_id, shared=shared)
    return f"{name} is removed."


@action("/leads/{lead_id}/field", role="agent", shown_on=leads, audit="lead.updated")
async def edit_field(context: PageContext, lead_id: str) -> None:
    """One cell of the list, unless somebody else was quicker."""
    form, field = context.form, context.form.text("field")
    context.entry.detail = f"custom_fields: {field}"
    await changes.edit_field(context.workspace, lead_id, field, form.text("was"), form.text("value"))


@action("/leads/bulk", role="agent", shown_on=leads, audit="leads.set")
async def set_field(context: PageContext) -> PageResponse:
    """Set a custom field of the leads that were chosen, or of all that match; without a value, remove it."""
    if context.form.text("confirm"):  # Enter in that field presses the first button of the form
        raise wrong("confirm", "not_confirmed", "Press Erase, or empty this field.")
    return await _begin(context, "set", context.form.text("field"), context.form.text("value") or None)


@action("/leads/erase", shown_on=leads, confirmed=True, audit="leads.erased")
async def erase_many(context: PageContext) -> PageResponse:
    """Erase the people who were chosen, or all that match."""
    if context.form.text("confirm").casefold() != "erase":
        raise wrong("confirm", "not_confirmed", "Type erase to erase these people.")
    return await _begin(context, "erase")


async def _begin(
    context: PageContext, kind: bulk_changes.Kind, field: str = "", value: str | None = None
) -> PageResponse:
    every, ticked, seen_at = context.form.on("all"), context.form.all("lead"), context.form.text("seen_at")
    try:
        clock.parse(seen_at)
    except ValueError as error:
        raise Invalid("Load the list again.") from error
    chosen = context.query_as(reads.LeadSearch) if every else ticked
    bulk = await bulk_changes.begin(context.workspace, context.me.user_id, kind, chosen, seen_at, field, value)
    which = "all that match" if every else f"{len(ticked)} chosen"
    context.entry.subject, context.entry.detail = bulk, f"{field}: {which}" if field else which
    return context.redirect(f"/leads/bulk/{bulk}")


@screen("/leads/bulk/{bulk_id}", "leads/bulk.html", role="agent")
async def bulk(context: PageContext, bulk_id: str) -> Values:
    """How far a change of many leads has come. It goes on when this page is left."""
    people = {user.id: user.called for user in await accounts.users(context.workspace)}
    return {"job": await bulk_reads.one(context.workspace, bulk_id), "people": people}


@live("/leads/bulk/{bulk_id}/live", role="agent")
async def bulk_live(context: PageContext, bulk_id: str) -> Seen:
    now = await bulk_reads.one(context.workspace, bulk_id)
    return (now["done"], now["skipped"], now["state"]), now["state"] != "running"


@action("/leads/bulk/{bulk_id}/cancel", role="agent", shown_on=bulk, audit="leads.cancelled")
async def cancel(context: PageContext, bulk_id: str) -> None:
    await bulk_changes.cancel(context.workspace, context.me.user_id, bulk_id, others=context.may("admin"))


@screen("/leads/{lead_id}", "leads/lead.html")
async def lead(context: PageContext, lead_id: str) -> Values:
    """What is known, why they have their score, and what happened."""
    stored = await reads.stored(context.workspace, lead_id)
    lead = stored.lead
    happened = await history.of(context.workspace, lead.id)
    names = await bots.names(context.workspace)
    context.note_read("lead.read", lead.id)
    return {
        "lead": lead,
        "seen": lead_form.seen(lead),
        "shown": lead_form.texts_of(lead),
        "draft": lead_form.draft(context.form, lead),
        "points": await bots.score_of(context.workspace, lead.id),
        "consents": await bots.consents_of(context.workspace, lead.id),
        "conversations": await conversations.of_lead(context.workspace, lead.id),
        "history": happened,
        "sent": await webhooks.states_of(context.workspace, [each.event_id for each in happened]),
        "bots": names,
        "bot": names.get(lead.bot_id, lead.bot_id),
        "notes": await conversations.notes_of_lead(context.workspace, lead.id) if context.may("agent") else [],
        "who": await _actors(context.workspace),
        "name": lead.name or _way(lead),
        "way": _way(lead),
    }


@action("/leads/{lead_id}", role="agent", shown_on=lead, audit="lead.updated")
async def edit(context: PageContext, lead_id: str) -> str:
    """What was typed; refused when somebody else was quicker with the same field."""
    before, after = await save(context, lead_id)
    return "Saved." if after.version != before.version else "Nothing was different."


async def save(context: PageContext, lead_id: str) -> tuple[StoredLead, StoredLead]:
    """Apply the form. Return the lead as it was, and is. Raises PreconditionFailed, NotFound, Conflict."""
    before = await reads.stored(context.workspace, lead_id)
    patch = lead_form.patch(context.form, before.lead)
    context.entry.subject, context.entry.detail = lead_id, ", ".join(msgspec.to_builtins(patch))
    version = frozenset({before.version})
    return before, await changes.update(context.workspace, lead_id, patch, unchanged={}, if_match=version)


@action("/leads/{lead_id}/erase", shown_on=lead, confirmed=True, audit="lead.erased")
async def erase(context: PageContext, lead_id: str) -> PageResponse:
    """Gone for good, once the way to reach them has been typed."""
    way = _way((await reads.stored(context.workspace, lead_id)).lead)
    if context.form.text("confirm").casefold() != way.casefold():
        raise wrong("confirm", "not_confirmed", f"Type {way} to erase this person.")
    await erasure.erase_lead(context.workspace, lead_id)
    word = "The person is erased: here, in conversations, and in what was still to be sent."
    return context.redirect("/leads", word)


@action("/leads/{lead_id}/consents/{consent_id}/withdraw", role="agent", shown_on=lead, audit="lead.consent_withdrawn")
async def withdraw_consent(context: PageContext, lead_id: str, consent_id: str) -> str:
    """The person has said that they do not consent any more."""
    context.entry.detail = consent_id
    await visitor_sessions.withdraw_consent(context.workspace, lead_id, consent_id, context.me.user_id)
    return "The withdrawal is recorded."


async def _actors(workspace: str) -> dict[str, str]:
    """Who makes changes, by id."""
    people = {user.id: user.called for user in await accounts.users(workspace)}
    keys = {key.id: f"API key {key.name}" for key in await accounts.listed(workspace)}
    return {**people, **keys, actor.VISITOR: "the visitor"}


def _way(lead: Lead) -> str:
    """How to reach them: a lead has at least one way."""
    return lead.email or lead.phone or lead.id
