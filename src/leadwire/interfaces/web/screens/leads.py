"""Leads: the list and its export; one lead, which can be corrected, exported or erased."""

from collections.abc import AsyncIterator
from typing import Any, Final

import msgspec
from litestar import Response

from leadwire.domain.accounts.changes import audit
from leadwire.domain.bots import reads as bots
from leadwire.domain.conversations import reads as conversations
from leadwire.domain.leads import changes, reads
from leadwire.domain.leads import export as files
from leadwire.domain.leads.reads import LeadSearch
from leadwire.domain.leads.schema import Lead, LeadPatch, StoredLead
from leadwire.domain.privacy import changes as privacy
from leadwire.domain.webhooks import reads as webhooks
from leadwire.infrastructure import clock
from leadwire.infrastructure.errors import PreconditionFailed
from leadwire.interfaces.web import lead_form
from leadwire.interfaces.web.forms import wrong
from leadwire.interfaces.web.page_context import PageContext
from leadwire.interfaces.web.routes import action, screen

_SORTS: Final = {"newest": "Newest first", "oldest": "Oldest first", "score": "Best score first"}
_OVERTAKEN: Final = (
    "Somebody changed this lead while you were typing. Your values are still in the form, the present ones beside them:"
    " save again to put yours in their place."
)


@screen("/leads")
async def leads(context: PageContext) -> Response[str]:
    """One page of the leads that match."""
    wanted = context.query_as(LeadSearch)
    return await context.render(
        "leads/list.html",
        wanted=wanted,
        found=await reads.search(context.workspace, wanted),
        total=await reads.total(context.workspace, wanted),
        bots=await bots.names(context.workspace),
        sorts=_SORTS,
    )


@action("/leads/export", role="agent", shown_on=leads, confirmed=True, download=True)
async def export(context: PageContext) -> Response[Any]:
    """Every lead that matches, as CSV or JSON."""
    wanted, kind = context.query_as(LeadSearch), context.form.choice("format", ("csv", "json"), "Choose CSV or JSON.")
    names = await bots.names(context.workspace)
    async with audit.transaction(context.me, "leads.exported", detail=kind):
        pass  # nothing changes here, but that the data was taken out is worth knowing
    name = f"leads-{clock.now():%Y-%m-%d}.{kind}"
    if kind == "csv":
        return context.download(name, "text/csv", files.as_csv(context.workspace, wanted, names))
    return context.download(name, "application/json", files.as_json(context.workspace, wanted))


@screen("/leads/{lead_id:str}")
async def lead(context: PageContext) -> Response[str]:
    """What is known, why they have their score, and what happened."""
    stored = await reads.stored(context.workspace, context.path_param("lead_id"))
    one = stored.lead
    happened = await reads.events(context.workspace, one.id)
    return await context.render(
        "leads/lead.html",
        lead=one,
        version=stored.version,
        shown=lead_form.values_of(one),
        draft=lead_form.draft(context.form),
        points=await bots.score_of(context.workspace, one.id),
        conversations=await conversations.of_lead(context.workspace, one.id),
        history=happened,
        sent=await webhooks.states_of(context.workspace, [each.event_id for each in happened]),
        bot=(await bots.names(context.workspace)).get(one.bot_id, one.bot_id),
        name=one.name or _way(one),
        way=_way(one),
    )


@action("/leads/{lead_id:str}", role="agent", shown_on=lead)
async def edit(context: PageContext) -> Response[Any]:
    """Other values; refused when somebody else was quicker."""
    lead_id = context.path_param("lead_id")
    before = await reads.stored(context.workspace, lead_id)
    after = await save(context, lead_id, lead_form.patch(context.form, before.lead))
    word = "Saved." if after.version != before.version else "Nothing was different."
    return await context.redirect(f"/leads/{lead_id}", word)


async def save(context: PageContext, lead_id: str, patch: LeadPatch) -> StoredLead:
    """Apply a form's patch unless somebody else was quicker. Raises PreconditionFailed, NotFound, Conflict."""
    version = lead_form.version(context.form)
    try:
        async with audit.transaction(context.me, "lead.updated", lead_id, ", ".join(msgspec.to_builtins(patch))):
            return await changes.update(context.workspace, lead_id, patch, unchanged={}, if_match=version)
    except PreconditionFailed as error:
        raise PreconditionFailed(_OVERTAKEN) from error


@action("/leads/{lead_id:str}/erase", shown_on=lead)
async def erase(context: PageContext) -> Response[Any]:
    """Gone for good, once the way to reach them has been typed."""
    stored = await reads.stored(context.workspace, context.path_param("lead_id"))
    if context.form.text("confirm").casefold() != _way(stored.lead).casefold():
        raise wrong("confirm", "not_confirmed", f"Type {_way(stored.lead)} to erase this person.")
    async with audit.transaction(context.me, "lead.erased", stored.lead.id):
        await privacy.erase_lead(context.workspace, stored.lead.id)
    word = "The person is erased: here, in conversations, and in what was still to be sent."
    return await context.redirect("/leads", word)


@action("/leads/{lead_id:str}/export", role="agent", shown_on=lead, confirmed=True, download=True)
async def export_one(context: PageContext) -> Response[Any]:
    """Everything that is kept of the person, as JSON."""
    one = (await reads.stored(context.workspace, context.path_param("lead_id"))).lead
    found = await conversations.of_lead(context.workspace, one.id)
    everything = {
        "lead": one,
        "score": await bots.score_of(context.workspace, one.id),
        "conversations": [await conversations.detail(context.workspace, each.id) for each in found],
        "events": await reads.events(context.workspace, one.id),
    }
    async with audit.transaction(context.me, "lead.exported", one.id):
        pass  # nothing changes here, but that the data was taken out is worth knowing

    async def whole() -> AsyncIterator[bytes]:
        yield msgspec.json.format(msgspec.json.encode(everything), indent=2)

    return context.download(f"{one.id}.json", "application/json", whole())


def _way(one: Lead) -> str:
    """How to reach them: a lead has at least one way."""
    return one.email or one.phone or one.id
