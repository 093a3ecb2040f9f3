"""/v1/leads."""

from typing import Any

from litestar import HttpMethod, Request, Router, delete, patch
from litestar.params import FromPath

from leadwire.domain.leads import changes, reads
from leadwire.domain.leads.reads import LeadQuery
from leadwire.domain.leads.schema import Lead, LeadDeleted, LeadPatch
from leadwire.domain.privacy import changes as privacy
from leadwire.interfaces.http import body, etags, responses
from leadwire.interfaces.http.envelopes import Page, Single
from leadwire.interfaces.http.responses import JSONResponse
from leadwire.interfaces.http.routes import get, options
from leadwire.interfaces.v1.openapi import Doc

_READ_ONLY = frozenset(Lead.__struct_fields__) - frozenset(LeadPatch.__struct_fields__)


@get(
    "/",
    scope="leads:read",
    doc=Doc(
        "List leads",
        "Newest first.",
        query=LeadQuery,
        headers=("Link",),
        links={name: {"lead_id": "$response.body#/data/0/id"} for name in ("show_lead", "update_lead", "delete_lead")},
    ),
)
async def list_leads(request: Request[Any, Any, Any]) -> JSONResponse[Page[Lead]]:
    pairs, query = responses.query(request, LeadQuery)
    found, total = await reads.page(request.auth.workspace, query)
    return responses.page(request, pairs, query, found, total)


@get(
    "/{lead_id:str}",
    scope="leads:read",
    doc=Doc(
        "Retrieve a lead",
        etag=True,
        links={
            "show_conversation": {"conversation_id": "$response.body#/data/conversation_id"},
            "update_lead": {"lead_id": "$response.body#/data/id"},
            "delete_lead": {"lead_id": "$response.body#/data/id"},
        },
    ),
)
async def show_lead(request: Request[Any, Any, Any], lead_id: FromPath[str]) -> JSONResponse[Single[Lead]]:
    stored = await reads.stored(request.auth.workspace, lead_id)
    return etags.tagged(request, Single(stored.lead), stored.version)


@patch(
    "/{lead_id:str}",
    scope="leads:write",
    doc=Doc(
        "Update a lead",
        "JSON merge patch (RFC 7396): absent fields stay, `null` clears, `custom_fields` merges key by key. "
        "A read-only field is accepted with its present value. At most 50 custom fields. "
        "Emits `lead.updated` if anything changed.",
        body=LeadPatch,
        example={"name": "Ada Lovelace", "score": 90, "custom_fields": {"stage": "qualified", "team_size": None}},
        conflicts={"lead_conflict": "Another lead of the bot has the e-mail address: see `conflicting_id`."},
        etag=True,
        links={"show_lead": {"lead_id": "$response.body#/data/id"}},
    ),
)
async def update_lead(request: Request[Any, Any, Any], lead_id: FromPath[str]) -> JSONResponse[Single[Lead]]:
    given = await body.json_object(request)
    change = body.fields(given, LeadPatch, also=_READ_ONLY)
    unchanged = {name: value for name, value in given.items() if name in _READ_ONLY}
    stored = await changes.update(
        request.auth.workspace, lead_id, change, unchanged=unchanged, if_match=etags.wanted(request)
    )
    return etags.tagged(request, Single(stored.lead), stored.version)


@delete(
    "/{lead_id:str}",
    scope="leads:write",
    status_code=200,
    doc=Doc(
        "Delete a lead",
        "For good, with every trace of the person. Emits `lead.deleted`.",
        etag=True,
        links={"show_lead": {"lead_id": "$response.body#/data/id"}},
    ),
)
async def delete_lead(request: Request[Any, Any, Any], lead_id: FromPath[str]) -> Single[LeadDeleted]:
    return Single(await privacy.erase_lead(request.auth.workspace, lead_id, if_match=etags.wanted(request)))


_allowed = options("/{lead_id:str}", HttpMethod.GET, HttpMethod.HEAD, HttpMethod.PATCH, HttpMethod.DELETE)
router = Router("/leads", route_handlers=[_allowed, list_leads, show_lead, update_lead, delete_lead], tags=["Leads"])
