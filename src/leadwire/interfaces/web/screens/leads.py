"""Leads: the list, and the whole of it as a file."""

from typing import Any

from litestar import Response

from leadwire.domain.accounts.changes import audit
from leadwire.domain.bots import reads as bots
from leadwire.domain.leads import export as files
from leadwire.domain.leads import reads
from leadwire.domain.leads.reads import LeadSearch
from leadwire.infrastructure import clock
from leadwire.infrastructure.errors import FieldError, Invalid
from leadwire.interfaces.web.page_context import PageContext
from leadwire.interfaces.web.routes import action, screen

_SORTS = {"newest": "Newest first", "oldest": "Oldest first", "score": "Best score first"}


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
    wanted, kind = context.query_as(LeadSearch), context.form.text("format")
    if kind not in ("csv", "json"):
        raise Invalid("Choose CSV or JSON.", errors=(FieldError("unknown_value", "Choose one of these.", "/format"),))
    names = await bots.names(context.workspace)
    async with audit.transaction(context.me, "leads.exported", detail=kind):
        pass  # nothing changes here, but that they left the house is worth knowing
    name = f"leads-{clock.now():%Y-%m-%d}.{kind}"
    if kind == "csv":
        return context.download(name, "text/csv", files.as_csv(context.workspace, wanted, names))
    return context.download(name, "application/json", files.as_json(context.workspace, wanted))
