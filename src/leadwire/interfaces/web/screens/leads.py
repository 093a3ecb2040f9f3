"""Leads: the list and its export; one lead, which can be corrected or erased."""

from typing import Final

import msgspec

from leadwire.domain.accounts import reads as accounts
from leadwire.domain.bots import reads as bots
from leadwire.domain.bots.changes import visitor_sessions
from leadwire.domain.bulk_changes import reads as bulk_changes
from leadwire.domain.conversations import reads as conversations
from leadwire.domain.leads import changes, downloads, fields, history, reads
from leadwire.domain.leads.reads import LeadSearch
from leadwire.domain.leads.schema import Lead, LeadPatch, StoredLead, custom_fields
from leadwire.domain.privacy import erasure
from leadwire.domain.views import changes as view_changes
from leadwire.domain.views import reads as saved_views
from leadwire.domain.webhooks import reads as webhooks
from leadwire.infrastructure import actor, clock
from leadwire.infrastructure.errors import Invalid, PreconditionFailed
from leadwire.interfaces.web import lead_form
from leadwire.interfaces.web.forms import wrong
from leadwire.interfaces.web.routes import PageContext, PageResponse, Values, action, screen

_OVERTAKEN: Final = (
    "Somebody changed this lead while you were typing. Your values are still in the form, the present ones beside them:"
    " save again to put yours in their place."
)


@screen("/leads", "leads/list.html")
async def leads(context: PageContext) -> Values:
    wanted = context.query_as(LeadSearch)
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
        "running": await bulk_changes.running(context.workspace),
        "custom": custom_fields,
        "as_text": fields.as_text,
        "most_columns": view_changes.MOST_COLUMNS,
        "found": await reads.search(context.workspace, wanted),
        "total": await reads.total(context.workspace, wanted),
        "bots": await bots.names(context.workspace),
    }


@action("/leads/export", role="agent", shown_on=leads, confirmed=True, download=True, audit="leads.exported")
async def export(context: PageContext) -> PageResponse:
    """What matches, or only the leads that are `ticked`."""
    wanted, ticked = context.query_as(LeadSearch), context.form.all("lead")
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
        "version": stored.version,
        "shown": lead_form.values_of(lead),
        "draft": lead_form.draft(context.form, lead),
        "points": await bots.score_of(context.workspace, lead.id),
        "consents": await bots.consents_of(context.workspace, lead.id),
        "conversations": await conversations.of_lead(context.workspace, lead.id),
        "history": happened,
        "sent": await webhooks.states_of(context.workspace, [each.event_id for each in happened]),
        "bots": names,
        "bot": names.get(lead.bot_id, lead.bot_id),
        "notes": await conversations.notes_of_lead(context.workspace, lead.id),
        "who": await _actors(context.workspace),
        "name": lead.name or _way(lead),
        "way": _way(lead),
    }


@action("/leads/{lead_id}", role="agent", shown_on=lead, audit="lead.updated")
async def edit(context: PageContext, lead_id: str) -> str:
    """Other values; refused when somebody else was quicker."""
    before = await reads.stored(context.workspace, lead_id)
    after = await save(context, lead_id, lead_form.patch(context.form, before.lead))
    return "Saved." if after.version != before.version else "Nothing was different."


async def save(context: PageContext, lead_id: str, patch: LeadPatch) -> StoredLead:
    """Apply a form's patch unless somebody else was quicker. Raises PreconditionFailed, NotFound, Conflict."""
    version = frozenset({context.form.number("version") or 0})
    context.entry.subject, context.entry.detail = lead_id, ", ".join(msgspec.to_builtins(patch))
    try:
        return await changes.update(context.workspace, lead_id, patch, unchanged={}, if_match=version)
    except PreconditionFailed as error:
        raise PreconditionFailed(_OVERTAKEN) from error


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
