"""What a receiver asks for about its own deliveries: what became of them, and to have them sent again."""

from datetime import datetime
from typing import Annotated, Final, Literal

from msgspec import Meta, Struct, structs

from leadwire.domain.webhooks import explain, history, reads, receivers, redrives
from leadwire.domain.webhooks.redrives import FASTEST, Redrive, Selection
from leadwire.domain.webhooks.schema import DeliveryDetail
from leadwire.infrastructure import clock, ids, settings
from leadwire.infrastructure.errors import NotFound, invalid_field
from leadwire.interfaces.http.responses import JSONResponse, Single
from leadwire.interfaces.v1.operations import Body, Input, Query, get, post

Owner = Annotated[receivers.Receiver, Input(lambda request: request.scope["auth"])]
"""Whose token it is."""
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


@get("/deliveries", scope="")
async def list_deliveries(receiver: Owner, query: Query[Listing]) -> JSONResponse[Deliveries]:
    """What became of the endpoint's deliveries."""
    wanted = history.Filter(endpoint_id=receiver.endpoint_id, stage=query.state, since=query.since, until=query.until)
    page = await history.page(receiver.workspace, wanted, query.cursor, query.limit)
    return JSONResponse(Deliveries([_listed(row) for row in page.rows], Onward(page.after)))


@get("/deliveries/{event_id:str}", scope="")
async def show_delivery(receiver: Owner, event_id: str) -> Single[Explained]:
    """One delivery with its attempts."""
    if not ids.is_id("evt", event_id):
        raise NotFound("There is no such delivery.")
    (delivery,) = await reads.deliveries_of(receiver.workspace, event_id, receiver.endpoint_id)
    return Single(await _explained(delivery))


@post("/redrives", scope="")
async def start_redrive(receiver: Owner, wanted: Body[Wanted]) -> Single[Redrive | Counted]:
    """Send deliveries again: dead letters that match, a period, numbers or one."""
    chosen = {name: getattr(wanted, name) for name in ("event_id", "numbers", "replay", "kinds", "outcomes")}
    since, until = _moment("since", wanted.since), _moment("until", wanted.until)
    selection = Selection(**chosen, since=since, until=until)
    if wanted.dry_run:
        return Single(Counted(await receivers.count(receiver, selection)))
    return Single(await receivers.redrive(receiver, selection, wanted.per_second))


@get("/redrives/{job_id:str}", scope="")
async def show_redrive(receiver: Owner, job_id: str) -> Single[Redrive]:
    """How far a redrive of the endpoint's deliveries has come."""
    missing = NotFound("There is no such redrive of this endpoint.")
    if not ids.is_id("job", job_id):
        raise missing
    job = await redrives.one(receiver.workspace, job_id)
    if job.endpoint_id != receiver.endpoint_id:
        raise missing
    return Single(job)


HANDLERS: Final = (list_deliveries, show_delivery, start_redrive, show_redrive)


def _listed(row: history.ListedDelivery) -> Listed:
    occurred_at, due_at, finished_at = clock.texts((row.occurred_at, row.due_at, row.finished_at))
    fields = (row.event_id, row.kind, row.state, row.attempts, row.last_outcome, row.http_status)
    return Listed(*fields, occurred_at, due_at, finished_at, row.test, row.subject)


async def _explained(delivery: DeliveryDetail) -> Explained:
    endpoint = await reads.endpoint(None, delivery.endpoint_id)
    by_itself = redrives.by_itself(endpoint, delivery)
    schedule = settings.get().retry_schedule
    story = explain.timeline(delivery, schedule, paused=bool(endpoint.paused_until), by_itself=by_itself)
    return Explained(**structs.asdict(delivery), cause=story.meaning, next=story.next)


def _moment(name: str, text: str | None) -> datetime | None:
    try:
        return None if text is None else clock.parse(text)
    except ValueError as error:
        raise invalid_field(f"/{name}", "invalid_value", str(error)) from error
