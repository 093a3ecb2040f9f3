"""What a receiver asks for about its own deliveries: what became of them, and to have them sent again."""

from datetime import datetime
from typing import Annotated, Any, Final, Literal

from litestar import Request, post
from litestar.params import FromPath
from msgspec import Meta, Struct, structs

from leadwire.domain.webhooks import explain, history, reads, receivers, redrives
from leadwire.domain.webhooks.redrives import FASTEST, Redrive, Selection
from leadwire.domain.webhooks.schema import DeliveryDetail
from leadwire.infrastructure import clock, ids, settings
from leadwire.infrastructure.errors import NotFound, invalid_field
from leadwire.interfaces.http import body, requests
from leadwire.interfaces.http.responses import JSONResponse, Single
from leadwire.interfaces.http.routes import get

_R = Request[Any, Any, Any]
_Number = Annotated[int, Meta(ge=0, le=2**63 - 1)]
_Names = Annotated[list[str], Meta(max_length=50)]
_Id = Annotated[str, Meta(pattern=r"^evt_[0-9a-hjkmnp-tv-z]{26}\Z")]


class Listing(Struct, frozen=True, kw_only=True):
    """The query of a list. `since` is inclusive, `until` exclusive: the time of the event."""

    state: Literal["", "unfinished", "delivered", "dead", "cancelled"] = ""
    since: datetime | None = None
    until: datetime | None = None
    limit: Annotated[int, Meta(ge=1, le=100)] = 20
    cursor: str = ""


class Listed(Struct, frozen=True):
    """A delivery. `due_at`: of one that has ended, when it did. `subject`: the lead or conversation."""

    event_id: str
    event: str
    state: str
    attempts: int
    last_outcome: str | None
    http_status: int | None
    occurred_at: str
    due_at: str
    finished_at: str | None
    test: bool
    subject: str | None


class Onward(Struct, frozen=True):
    """Where the next page begins, null on the last one."""

    next_cursor: str | None


class Deliveries(Struct, frozen=True):
    """A page of deliveries, those of newer events first. It may be empty although there is a next one."""

    data: list[Listed]
    meta: Onward


class Explained(DeliveryDetail, frozen=True, kw_only=True):
    """One delivery. `cause`: what the outcome of its last attempt means, and what to do; `next`: what comes next."""

    cause: str
    next: str


class Wanted(Struct, forbid_unknown_fields=True, frozen=True, kw_only=True):
    """Which deliveries to send again, as `Selection`; `dry_run` only counts them."""

    event_id: _Id | None = None
    numbers: tuple[_Number, _Number] | None = None
    replay: bool = False
    kinds: _Names = []
    outcomes: _Names = []
    since: str | None = None
    until: str | None = None
    per_second: Annotated[int, Meta(ge=1, le=FASTEST)] = 100
    dry_run: bool = False


class Counted(Struct, frozen=True):
    """How many deliveries would be sent again."""

    would_redrive: int


@get("/deliveries")
async def list_deliveries(request: _R) -> JSONResponse[Deliveries]:
    """What became of the endpoint's deliveries."""
    query = requests.parse(requests.pairs_of(request.scope["query_string"]), Listing)
    wanted = history.Filter(
        endpoint_id=request.auth.endpoint_id, stage=query.state, since=query.since, until=query.until
    )
    page = await history.page(request.auth.workspace, wanted, query.cursor, query.limit)
    return JSONResponse(Deliveries([_listed(row) for row in page.rows], Onward(page.after)))


@get("/deliveries/{event_id:str}")
async def show_delivery(request: _R, event_id: FromPath[str]) -> JSONResponse[Single[Explained]]:
    """One delivery with its attempts."""
    if not ids.is_id("evt", event_id):
        raise NotFound("There is no such delivery.")
    (found,) = await reads.deliveries_of(request.auth.workspace, event_id, request.auth.endpoint_id)
    return JSONResponse(Single(await _explained(found)))


@post("/redrives")
async def start_redrive(request: _R) -> JSONResponse[Single[Redrive | Counted]]:
    """Send deliveries again: dead letters that match, a period, numbers or one."""
    asked = body.fields(await body.json_object(request), Wanted)
    selection = Selection(
        event_id=asked.event_id,
        numbers=asked.numbers,
        replay=asked.replay,
        kinds=asked.kinds,
        outcomes=asked.outcomes,
        since=_moment("since", asked.since),
        until=_moment("until", asked.until),
    )
    if asked.dry_run:
        return JSONResponse(Single(Counted(await receivers.count(request.auth, selection))))
    return JSONResponse(Single(await receivers.redrive(request.auth, selection, asked.per_second)))


@get("/redrives/{job_id:str}")
async def show_redrive(request: _R, job_id: FromPath[str]) -> JSONResponse[Single[Redrive]]:
    """How far a redrive of the endpoint's deliveries has come."""
    missing = NotFound("There is no such redrive of this endpoint.")
    if not ids.is_id("job", job_id):
        raise missing
    job = await redrives.one(request.auth.workspace, job_id)
    if job.endpoint_id != request.auth.endpoint_id:
        raise missing
    return JSONResponse(Single(job))


HANDLERS: Final = (list_deliveries, show_delivery, start_redrive, show_redrive)


def _listed(row: history.ListedDelivery) -> Listed:
    occurred_at, due_at, finished_at = clock.texts((row.occurred_at, row.due_at, row.finished_at))
    known = (row.event_id, row.kind, row.state, row.attempts, row.last_outcome, row.http_status)
    return Listed(*known, occurred_at, due_at, finished_at, row.test, row.subject)


async def _explained(found: DeliveryDetail) -> Explained:
    endpoint = await reads.endpoint(None, found.endpoint_id)
    by_itself = redrives.by_itself(endpoint, found)
    schedule = settings.get().retry_schedule
    story = explain.timeline(found, schedule, paused=bool(endpoint.paused_until), by_itself=by_itself)
    return Explained(**structs.asdict(found), cause=story.meaning, next=story.next)


def _moment(name: str, text: str | None) -> datetime | None:
    try:
        return None if text is None else clock.parse(text)
    except ValueError as error:
        raise invalid_field(f"/{name}", "invalid_value", str(error)) from error
