"""People who told a bot how to reach them."""

from litestar import Router

from leadwire.domain.leads import changes, reads
from leadwire.domain.leads.changes import LeadConflict
from leadwire.domain.leads.reads import LeadQuery
from leadwire.domain.leads.schema import Lead, LeadDeleted, LeadPatch
from leadwire.domain.privacy import erasure
from leadwire.interfaces.http.responses import Page, PageMeta, Single, Tagged
from leadwire.interfaces.http.routes import options
from leadwire.interfaces.v1.operations import Caller, IfMatch, MergePatch, Query, delete, get, patch


@get("/", scope="leads:read")
async def list_leads(caller: Caller, query: Query[LeadQuery]) -> Page[Lead]:
    """List leads.

    Newest first, unless `sort` or a filter by the time of the last change says otherwise.
    """
    page = await reads.page(caller.workspace, query)
    return Page(page.items, PageMeta(page.total, page.page, query.limit, page.next_cursor, page.complete))


@get("/{lead_id:str}", scope="leads:read")
async def show_lead(caller: Caller, lead_id: str) -> Tagged[Lead]:
    """Retrieve a lead."""
    stored = await reads.stored(caller.workspace, lead_id)
    return Tagged(stored.lead, stored.version)


@patch(
    "/{lead_id:str}",
    scope="leads:write",
    raises=[LeadConflict],
    example={"name": "Ada Lovelace", "score": 90, "custom_fields": {"stage": "qualified", "team_size": None}},
)
async def update_lead(
    caller: Caller, lead_id: str, change: MergePatch[LeadPatch, Lead], expected: IfMatch
) -> Tagged[Lead]:
    """Update a lead.

    JSON merge patch (RFC 7396): absent fields stay, `null` clears, `custom_fields` merges key by key. A read-only field
    is accepted with its present value. At most 50 custom fields. Emits `lead.updated` if anything changed.
    """
    stored = await changes.update(
        caller.workspace, lead_id, change.patch, unchanged=change.unchanged, if_match=expected
    )
    return Tagged(stored.lead, stored.version)


@delete("/{lead_id:str}", scope="leads:write")
async def delete_lead(caller: Caller, lead_id: str, expected: IfMatch) -> Single[LeadDeleted]:
    """Delete a lead.

    For good, with every trace of the person. Emits `lead.deleted`.
    """
    return Single(await erasure.erase_lead(caller.workspace, lead_id, if_match=expected))


_ONE = (show_lead, update_lead, delete_lead)
router = Router("/leads", route_handlers=[*options(*_ONE), list_leads, *_ONE])
