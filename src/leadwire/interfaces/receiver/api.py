"""/receiver/v1: what the receiver of webhooks asks for, about its own endpoint alone.

Beside `/v1`, whose operations are the specification's. Errors are problem documents, as those of `/v1` are.
"""

import asyncio
import time
from datetime import datetime
from functools import partial
from typing import Annotated, Any, Final, Literal

from litestar import Router
from litestar.handlers import HTTPRouteHandler
from litestar.middleware import ASGIMiddleware
from litestar.types import ASGIApp, Receive, Scope, Send
from msgspec import Meta, Raw, Struct, convert, structs

from leadwire.domain.accounts.reads import why_closed
from leadwire.domain.conversations import pubsub
from leadwire.domain.webhooks import explain, history, reads, receivers, redrives
from leadwire.infrastructure import clock, ids
from leadwire.infrastructure.errors import NotFound, Unauthenticated, WorkspaceMoving, invalid_field
from leadwire.infrastructure.rate_limit import RateLimit
from leadwire.interfaces.http import body, client_network, requests
from leadwire.interfaces.http.middleware import ADDED, WAITED, set_workspace
from leadwire.interfaces.http.responses import JSONResponse, Single
from leadwire.interfaces.http.routes import options
from leadwire.interfaces.v1.authentication import CHALLENGE, CHECKED_EVERY, FAILURES_A_MINUTE, bearer
from leadwire.interfaces.v1.operations import Asked, Body, Input, Query, get, post

_LIMIT: Final = RateLimit("receiver", 6000, shared=True)
_FAILURES: Final = RateLimit("authentication", FAILURES_A_MINUTE, shared=False)

Owner = Annotated[receivers.Receiver, Input(lambda request: request.scope["auth"])]
"""Whose token it is."""
_Number = Annotated[int, Meta(ge=0, le=2**63 - 1)]
_Name = Annotated[str, Meta(pattern=r"^[!-~]{1,100}\Z")]
_Id = Annotated[str, Meta(pattern=r"^evt_[0-9a-hjkmnp-tv-z]{26}\Z")]
_Names = Annotated[list[str], Meta(max_length=50)]


class After(Struct, frozen=True, kw_only=True):
    """The query of a checkpoint."""

    after: _Number = 0


class Numbers(Struct, forbid_unknown_fields=True, frozen=True, kw_only=True):
    """Which deliveries to send again, both included."""

    first: _Number
    last: _Number


class Wanted(Struct, frozen=True, kw_only=True):
    """The query of a fetch: at most how many deliveries, and for how many seconds to wait for the first."""

    limit: Annotated[int, Meta(ge=1, le=100)] = 10
    wait: Annotated[int, Meta(ge=0, le=30)] = 20


class Arrived(Struct, forbid_unknown_fields=True, frozen=True, kw_only=True):
    """What has arrived, of a batch."""

    lease: _Name
    ids: Annotated[list[_Name], Meta(max_length=256)]


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


class Again(Struct, forbid_unknown_fields=True, frozen=True, kw_only=True):
    """Which deliveries to send again, as `Selection`; `dry_run` only counts them."""

    event_id: _Id | None = None
    numbers: tuple[_Number, _Number] | None = None
    replay: bool = False
    kinds: _Names = []
    outcomes: _Names = []
    since: str | None = None
    until: str | None = None
    per_second: Annotated[int, Meta(ge=1, le=redrives.FASTEST)] = 100
    dry_run: bool = False


@get("/checkpoint", scope="")
async def show_checkpoint(receiver: Owner, query: Query[After]) -> JSONResponse[Raw]:
    """What the receiver compares with what it has, signed as a delivery is."""
    checkpoint = await receivers.checkpoint(receiver, query.after)
    headers = [(name.lower().encode(), value.encode()) for name, value in checkpoint.headers]
    return JSONResponse(Raw(checkpoint.body), headers=headers)


@post("/replay", scope="")
async def replay(receiver: Owner, numbers: Body[Numbers]) -> Single[dict[str, int]]:
    """Send what has these numbers again, delivered or dead: how many deliveries."""
    try:
        job = await receivers.redrive(receiver, redrives.Selection(numbers=(numbers.first, numbers.last), replay=True))
    except NotFound:  # no such number yet, or any more
        return Single({"replayed": 0})
    return Single({"replayed": job.total})


@post("/fetch", scope="")
async def fetch(receiver: Owner, query: Query[Wanted], request: Asked) -> Single[receivers.Batch]:
    """Hand deliveries out. Without any, wait for one; nothing is handed out to a caller that has gone away, nor to one
    whose token was replaced meanwhile.
    """
    gone = asyncio.create_task(requests.disconnected(request))
    try:
        start = time.perf_counter()
        await receivers.wait(receiver, query.wait, gone, lambda: pubsub.hub.leaving)
        request.scope["state"][WAITED] = waited = time.perf_counter() - start
        if waited >= CHECKED_EVERY:
            await _check(request.scope)
        most = 0 if gone.done() or pubsub.hub.leaving else query.limit
        return Single(await receivers.fetch(receiver, most))
    finally:
        gone.cancel()


@post("/acknowledge", scope="", while_suspended=True)
async def acknowledge(receiver: Owner, arrived: Body[Arrived]) -> Single[receivers.Acknowledged]:
    """Take note of what has arrived. Also while the workspace is suspended: it was handed out before."""
    return Single(await receivers.acknowledge(receiver, arrived.lease, arrived.ids))


@get("/deliveries", scope="")
async def list_deliveries(receiver: Owner, query: Query[Listing]) -> JSONResponse[dict[str, Any]]:
    """What became of the endpoint's deliveries, newer events first. A page may be empty although there is a next one;
    on the last one, `next_cursor` is null.
    """
    wanted = history.Filter(endpoint_id=receiver.endpoint_id, stage=query.state, since=query.since, until=query.until)
    page = await history.page(receiver.workspace, wanted, query.cursor, query.limit)
    rows = [convert(row, Listed, from_attributes=True) for row in page.rows]
    return JSONResponse({"data": rows, "meta": {"next_cursor": page.after}})


@get("/deliveries/{event_id:str}", scope="")
async def show_delivery(receiver: Owner, event_id: str) -> Single[dict[str, Any]]:
    """One delivery with its attempts. `cause`: what the outcome of the last one means, and what to do; `next`: what
    comes next.
    """
    if not ids.is_id("evt", event_id):
        raise NotFound("There is no such delivery.")
    (delivery,) = await reads.deliveries_of(receiver.workspace, event_id, receiver.endpoint_id)
    endpoint = await reads.endpoint(None, delivery.endpoint_id)
    story = explain.timeline(delivery, endpoint)
    return Single({**structs.asdict(delivery), "cause": story.meaning, "next": story.next})


@post("/redrives", scope="")
async def start_redrive(receiver: Owner, wanted: Body[Again]) -> Single[redrives.Redrive | dict[str, int]]:
    """Send deliveries again: dead letters that match, a period, numbers or one."""
    chosen = {name: getattr(wanted, name) for name in ("event_id", "numbers", "replay", "kinds", "outcomes")}
    since, until = _moment("since", wanted.since), _moment("until", wanted.until)
    selection = redrives.Selection(**chosen, since=since, until=until)
    if wanted.dry_run:
        return Single({"would_redrive": await receivers.count(receiver, selection)})
    return Single(await receivers.redrive(receiver, selection, wanted.per_second))


@get("/redrives/{job_id:str}", scope="")
async def show_redrive(receiver: Owner, job_id: str) -> Single[redrives.Redrive]:
    """How far a redrive of the endpoint's deliveries has come."""
    job = await redrives.one(receiver.workspace, job_id) if ids.is_id("job", job_id) else None
    if job is None or job.endpoint_id != receiver.endpoint_id:
        raise NotFound("There is no such redrive of this endpoint.")
    return Single(job)


def _moment(name: str, text: str | None) -> datetime | None:
    try:
        return None if text is None else clock.parse(text)
    except ValueError as error:
        raise invalid_field(f"/{name}", "invalid_value", str(error)) from error


class _Guard(ASGIMiddleware):
    """Puts the `Receiver` whose token it is into `request.auth`, before anything else of the request is looked at."""

    async def handle(self, scope: Scope, receive: Receive, send: Send, next_app: ASGIApp) -> None:
        if scope["method"] != "OPTIONS":  # type: ignore[typeddict-item]
            scope["auth"] = await _receiver(scope)
            body.look_again(scope, CHECKED_EVERY, partial(_check, scope))
        await next_app(scope, receive, send)


async def _receiver(scope: Scope) -> receivers.Receiver:
    """Raise Unauthenticated, RateLimited, WorkspaceSuspended, WorkspaceMoving."""
    loop_time = asyncio.get_running_loop().time()
    try:
        receiver = await _known(scope)
    except Unauthenticated:
        _FAILURES.take(client_network.network(scope), loop_time)
        raise
    set_workspace(receiver.workspace)
    scope["state"][ADDED].extend(_LIMIT.take(receiver.endpoint_id, loop_time))
    await _check(scope, receiver)
    return receiver


async def _check(scope: Scope, receiver: receivers.Receiver | None = None) -> None:
    """See that it may go on. Raise Unauthenticated, WorkspaceSuspended, WorkspaceMoving."""
    receiver = receiver or await _known(scope)
    if receiver.suspended:
        why = await why_closed(receiver.workspace)
        if isinstance(why, WorkspaceMoving) or not scope["route_handler"].opt.get("while_suspended"):
            raise why


async def _known(scope: Scope) -> receivers.Receiver:
    """Raise Unauthenticated."""
    receiver = await receivers.authenticate(bearer(scope["headers"], "token"))
    if receiver is None:
        raise Unauthenticated("The receiver's token is not known, or another has replaced it.", headers=CHALLENGE)
    return receiver


_HANDLERS: Final = [value for value in list(globals().values()) if isinstance(value, HTTPRouteHandler)]
router = Router(
    "/receiver/v1",
    route_handlers=[*_HANDLERS, *options(*_HANDLERS)],
    middleware=[_Guard()],
    response_class=JSONResponse,
)
