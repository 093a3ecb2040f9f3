"""Exports: all rows that match, in one download that can be resumed."""

import asyncio
from collections import Counter
from collections.abc import AsyncGenerator, AsyncIterator, Sequence
from typing import Annotated, Any, Final
from urllib.parse import parse_qsl, urlencode

from litestar import Router
from msgspec import Meta, Struct

from leadwire.domain.accounts.schema import Caller as Key
from leadwire.domain.conversations.reads import ConversationQuery
from leadwire.domain.exports import changes, reads
from leadwire.domain.exports.formats import FORMATS
from leadwire.domain.exports.reads import EventsQuery, StoredExport
from leadwire.domain.exports.schema import Export, ExportCanceled, ExportExpired, ExportRequest, Kind, TooManyExports
from leadwire.domain.leads.reads import LeadQuery
from leadwire.infrastructure import clock
from leadwire.infrastructure.errors import FieldError, InsufficientScope, Invalid, InvalidParameter, RateLimited
from leadwire.interfaces.http import requests
from leadwire.interfaces.http.body import pointer
from leadwire.interfaces.http.responses import Single
from leadwire.interfaces.http.routes import options
from leadwire.interfaces.http.streams import Download
from leadwire.interfaces.v1 import authentication
from leadwire.interfaces.v1.operations import Asked, Body, Caller, Query, delete, get, post

MOST_AT_ONCE: Final = 2
"""Downloads of a workspace at a time in one process."""
_NOTED_EVERY: Final = 20_000  # rows
_BY_TIME: Final = ("bot_id", "since", "until", "updated_since", "updated_before")
_TAKES: Final[dict[Kind, tuple[type[Struct], str, frozenset[str]]]] = {
    "leads": (LeadQuery, "leads:read", frozenset((*_BY_TIME, "score_min", "score_max"))),
    "conversations": (ConversationQuery, "conversations:read", frozenset((*_BY_TIME, "status"))),
    "messages": (ConversationQuery, "conversations:read", frozenset((*_BY_TIME, "status"))),
    "events": (EventsQuery, "events:read", frozenset(("types", "since"))),
}
"""For each kind the query of its list, the scope that it needs, and which filters an export takes."""

_downloads: Counter[str] = Counter()


class After(Struct, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """Where a download begins."""

    after: Annotated[str, Meta(min_length=1, max_length=200)] | None = None
    """To resume: the values of `resume_by` of the last row that arrived whole, with a comma between them. What comes is
    what is missing, without the first line of CSV."""


@post("/", scope="", status=202, raises=[TooManyExports], example={"type": "leads", "format": "csv"})
async def create_export(caller: Caller, wanted: Body[ExportRequest]) -> Single[Export]:
    """Make an export.

    Needs the scope to read what is exported. Nothing is stored but what you ask for: rows are read while they are
    downloaded, oldest first, as they are then. What is created later than the export is not in it.
    """
    _allow(caller, wanted.type)
    query = urlencode([(name, str(value)) for name, value in wanted.filter.items()])
    try:
        _parse(wanted.type, query)
    except InvalidParameter as error:
        faults = [
            FieldError(fault.code, fault.message, pointer("filter", fault.parameter or "")) for fault in error.errors
        ]
        raise Invalid("The filter is not valid.", errors=tuple(faults)) from error
    return Single(await changes.create(caller.workspace, wanted.type, wanted.format, query))


@get("/{export_id:str}", scope="")
async def show_export(caller: Caller, export_id: str) -> Single[Export]:
    """Retrieve an export.

    Needs the scope to read what is exported.
    """
    return Single((await _stored(caller, export_id)).export)


@get("/{export_id:str}/download", scope="", raises=[ExportCanceled, ExportExpired])
async def download_export(caller: Caller, export_id: str, query: Query[After], request: Asked) -> Download[Export]:
    """Download an export.

    Needs the scope to read what is exported. At most 2 downloads of a workspace at a time. With
    `Accept-Encoding: gzip` it is compressed. A download that breaks off has no end of its body; `after` resumes it.
    """
    job = await _stored(caller, export_id)
    job.check()
    rows = reads.rows(caller.workspace, job, _parse(job.export.type, job.query), query.after or "")
    chunks = _written(request, job, rows, whole=query.after is None)
    kind, _ = FORMATS[job.export.format]
    name = f"{job.export.type}-{clock.now():%Y-%m-%d}.{job.export.format}"
    return Download(await anext(chunks), chunks, kind, name)  # what is refused is refused before the response begins


@delete("/{export_id:str}", scope="")
async def cancel_export(caller: Caller, export_id: str) -> Single[Export]:
    """Cancel an export.

    Its downloads end, too. Needs the scope to read what is exported.
    """
    await _stored(caller, export_id)
    return Single(await changes.cancel(caller.workspace, export_id))


async def _written(
    request: Asked, job: StoredExport, batches: AsyncIterator[Sequence[Struct]], *, whole: bool
) -> AsyncGenerator[bytes, None]:
    """Yield the file, at least once. Raise RateLimited; ExportCanceled, or that the key has ended, once it is seen."""
    (_, write), workspace = FORMATS[job.export.format], request.scope["auth"].workspace
    if _downloads[workspace] >= MOST_AT_ONCE:
        message = f"At most {MOST_AT_ONCE} downloads of a workspace at a time."
        raise RateLimited(message, headers={"Retry-After": "5"})
    _downloads[workspace] += 1
    try:
        now = asyncio.get_running_loop().time
        first, looked = await anext(batches, None) or (), now()
        yield write(job.export.type, first, head=whole)
        sent = len(first)
        async for rows in batches:
            if sent >= _NOTED_EVERY or now() - looked >= authentication.CHECKED_EVERY:
                await authentication.check_again(request.scope)
                await changes.note(workspace, job.export.id, sent, ended=False)
                sent, looked = 0, now()
            yield write(job.export.type, rows, head=False)
            sent += len(rows)
        await changes.note(workspace, job.export.id, sent, ended=True)
    finally:
        _downloads[workspace] -= 1
        if not _downloads[workspace]:
            del _downloads[workspace]


async def _stored(caller: Key, export_id: str) -> StoredExport:
    job = await reads.stored(caller.workspace, export_id)
    _allow(caller, job.export.type)
    return job


def _allow(caller: Key, kind: Kind) -> None:
    _, scope, _ = _TAKES[kind]
    if scope not in caller.scopes:
        raise InsufficientScope(f"This key lacks the scope {scope}.")


def _parse(kind: Kind, query: str) -> Any:
    """Return the filters of an export as the query of its list. Raise InvalidParameter."""
    model, _, names = _TAKES[kind]
    pairs = parse_qsl(query, keep_blank_values=True)
    if unknown := [name for name, _ in pairs if name not in names]:
        message = f"No such filter. There are: {', '.join(sorted(names))}."
        faults = tuple(FieldError("unknown_parameter", message, parameter=name[:100]) for name in unknown)
        raise InvalidParameter("Cannot use the filter.", errors=faults)
    parsed = requests.parse(pairs, model)
    if isinstance(parsed, EventsQuery):
        parsed.check()
    return parsed


_ONE: Final = (show_export, download_export, cancel_export)
router = Router("/exports", route_handlers=[*options(*_ONE), create_export, *_ONE])
