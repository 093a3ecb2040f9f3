"""The filter of an endpoint: tried against the events of the last days, then saved."""

from typing import Final

from leadwire.domain.bots import reads as bots
from leadwire.domain.webhooks import changes, preview, reads
from leadwire.domain.webhooks.filters import Filter
from leadwire.domain.webhooks.schema import EndpointChange
from leadwire.infrastructure.errors import Invalid
from leadwire.interfaces.web.forms import Form
from leadwire.interfaces.web.routes import PageContext, PageResponse, Values, action, screen

_HOURS: Final = 24 * 7


@screen("/webhooks/{endpoint_id}/filter", "webhooks/filter.html", role="admin")
async def endpoint_filter(context: PageContext, endpoint_id: str) -> Values:
    """What it says; with `tried`, what it would have let through."""
    endpoint = await reads.endpoint(context.workspace, endpoint_id)
    form = context.form or context.query
    wanted = _filter(form) if form.on("tried") else endpoint.filter or Filter()
    result, why = None, ""
    if form.on("tried"):
        try:
            result = await preview.of(context.workspace, endpoint.events, _HOURS, wanted)
        except Invalid as refusal:
            why = refusal.detail
    names = await bots.names(context.workspace)
    return {"endpoint": endpoint, "wanted": wanted, "result": result, "why": why, "bots": names, "most": preview.MOST}


@action("/webhooks/{endpoint_id}/filter", shown_on=endpoint_filter, confirmed=True, audit="endpoint.changed")
async def store(context: PageContext, endpoint_id: str) -> PageResponse:
    """Keep it; an empty one is none."""
    change, saw = EndpointChange(filter=_filter(context.form)), context.form.text("seen")
    context.entry.detail = "; ".join((await changes.configure(context.workspace, endpoint_id, change, saw)).changes)
    return context.redirect(f"/webhooks/{endpoint_id}/settings", "Saved. It holds for events from now on.")


def _filter(form: Form) -> Filter:
    """Fields between commas, conditions on lines."""
    lines = [line.strip() for line in form.text("conditions").splitlines()]
    fields = [name.strip() for name in form.text("changed").split(",")]
    return Filter(form.all("bots"), [name for name in fields if name], [line for line in lines if line])
