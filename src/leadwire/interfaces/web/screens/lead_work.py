"""Working through the list of leads: columns, views, one cell at a time, many leads at once."""

from typing import Final
from urllib.parse import urlencode

from leadwire.domain.accounts import reads as accounts
from leadwire.domain.bulk_changes import changes, reads
from leadwire.domain.leads import changes as leads_changes
from leadwire.domain.leads.reads import LeadSearch
from leadwire.domain.views import changes as views
from leadwire.infrastructure import clock
from leadwire.infrastructure.errors import Invalid
from leadwire.interfaces.web.forms import wrong
from leadwire.interfaces.web.live_updates import Seen
from leadwire.interfaces.web.routes import PageContext, PageResponse, Values, action, live, screen
from leadwire.interfaces.web.screens import leads as listed

_KEPT: Final = ("bot_id", "score_min", "sort", *(f"{key}{n}" for n in ("", 2, 3) for key in ("field", "test", "value")))
"""What a view keeps. Not what is searched for: that is mostly a person's name, which an erasure would have to find."""
_ALL: Final = LeadSearch()


@action("/leads/columns", role="viewer", shown_on=listed.leads)
async def columns(context: PageContext) -> None:
    """Which custom fields this person sees."""
    await views.choose_columns(context.workspace, context.me.user_id, context.form.all("column"))


@action("/leads/views", role="agent", shown_on=listed.leads, audit="lead_view.saved")
async def save_view(context: PageContext) -> PageResponse:
    """The present filters, order and columns, under a name."""
    wanted, shared = context.query_as(LeadSearch), context.form.on("shared")
    values = {name: str(value) for name in _KEPT if (value := getattr(wanted, name)) != getattr(_ALL, name)}
    query, name = urlencode(values), context.form.text("name")
    context.entry.detail = f"{name}{', for everybody' if shared else ''}"
    chosen = context.form.all("column")
    view = await views.save(context.workspace, context.me.user_id, name, query, chosen, shared=shared)
    return context.redirect(f"/leads?{query}&view={view}", "Saved.")


@action("/leads/views/{view_id}/remove", role="agent", shown_on=listed.leads, audit="lead_view.removed")
async def remove_view(context: PageContext, view_id: str) -> str:
    shared = context.may("admin")
    context.entry.detail = name = await views.remove(context.workspace, context.me.user_id, view_id, shared=shared)
    return f"{name} is removed."


@action("/leads/{lead_id}/field", role="agent", shown_on=listed.leads, audit="lead.updated")
async def edit_field(context: PageContext, lead_id: str) -> None:
    """One cell of the list, unless somebody else was quicker."""
    form, field = context.form, context.form.text("field")
    context.entry.detail = f"custom_fields: {field}"
    await leads_changes.edit_field(context.workspace, lead_id, field, form.text("was"), form.text("value"))


@action("/leads/bulk", role="agent", shown_on=listed.leads, audit="leads.set")
async def set_field(context: PageContext) -> PageResponse:
    """Set a custom field of the leads that were chosen, or of all that match; without a value, remove it."""
    field = context.form.text("field")
    return await _begin(context, "set", field, context.form.text("value") or None)


@action("/leads/erase", shown_on=listed.leads, confirmed=True, audit="leads.erased")
async def erase(context: PageContext) -> PageResponse:
    """Erase the people who were chosen, or all that match."""
    if context.form.text("confirm").casefold() != "erase":
        raise wrong("confirm", "not_confirmed", "Type erase to erase these people.")
    return await _begin(context, "erase")


async def _begin(context: PageContext, kind: changes.Kind, field: str = "", value: str | None = None) -> PageResponse:
    every, ticked, seen_at = context.form.on("all"), context.form.all("lead"), context.form.text("seen_at")
    try:
        clock.parse(seen_at)
    except ValueError as error:
        raise Invalid("Load the list again.") from error
    chosen = context.query_as(LeadSearch) if every else ticked
    bulk = await changes.begin(context.workspace, context.me.user_id, kind, chosen, seen_at, field, value)
    which = "all that match" if every else f"{len(ticked)} chosen"
    context.entry.subject, context.entry.detail = bulk, f"{field}: {which}" if field else which
    return context.redirect(f"/leads/bulk/{bulk}")


@screen("/leads/bulk/{bulk_id}", "leads/bulk.html", role="agent")
async def bulk(context: PageContext, bulk_id: str) -> Values:
    """How far a change of many leads has come. It goes on when this page is left."""
    people = {user.id: user.called for user in await accounts.users(context.workspace)}
    return {"job": await reads.one(context.workspace, bulk_id), "people": people}


@live("/leads/bulk/{bulk_id}/live", role="agent")
async def bulk_live(context: PageContext, bulk_id: str) -> Seen:
    now = await reads.one(context.workspace, bulk_id)
    return (now["done"], now["skipped"], now["state"]), now["state"] != "running"


@action("/leads/bulk/{bulk_id}/cancel", role="agent", shown_on=bulk, audit="leads.cancelled")
async def cancel(context: PageContext, bulk_id: str) -> None:
    await changes.cancel(context.workspace, context.me.user_id, bulk_id, others=context.may("admin"))
