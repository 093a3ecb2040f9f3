"""The files of the list of leads, made while they are sent: no copy is kept that an erasure would have to find.

Those of `/v1` are in `domain/exports`.
"""

from collections.abc import AsyncIterator, Mapping
from typing import Final

import msgspec

from leadwire.domain.leads import reads
from leadwire.domain.leads.reads import LeadSearch
from leadwire.domain.leads.schema import TEXTS, Lead
from leadwire.domain.listing.spreadsheets import BOM, written

_HEAD: Final = (
    "id", "captured_at", *TEXTS, "score", "bot", "source_url", "source_campaign",
    "source_referrer", "conversation_id", "custom_fields",
)  # fmt: skip


async def as_csv(workspace: str, query: LeadSearch, bots: Mapping[str, str]) -> AsyncIterator[bytes]:
    """RFC 4180 in UTF-8; custom fields are one column of JSON. Texts that a spreadsheet would run begin with `'`."""
    yield written([_HEAD], start=BOM)
    async for leads in reads.walk(workspace, query):
        yield written([_cells(lead, bots) for lead in leads])


async def as_json(workspace: str, query: LeadSearch) -> AsyncIterator[bytes]:
    """One array of leads as /v1 shows them, a line each."""
    before = b"[\n"
    async for leads in reads.walk(workspace, query):
        if leads:
            yield before + b",\n".join(msgspec.json.encode(lead) for lead in leads)
            before = b",\n"
    yield b"\n]\n" if before == b",\n" else b"[]\n"


def _cells(lead: Lead, bots: Mapping[str, str]) -> tuple[object, ...]:
    source = lead.source
    fields = msgspec.json.encode(lead.custom_fields).decode()
    return (
        lead.id, lead.created_at, *(getattr(lead, name) for name in TEXTS), lead.score,
        bots.get(lead.bot_id, lead.bot_id), source.url, source.campaign, source.referrer, lead.conversation_id, fields,
    )  # fmt: skip
