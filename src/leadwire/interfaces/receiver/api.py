"""/receiver/v1: what the receiver of webhooks asks for, about its own endpoint alone.

Beside `/v1`, whose operations are the specification's. Errors are problem documents, as those of `/v1` are.
"""

import asyncio
import time
from typing import Annotated, Final

from litestar import Router
from litestar.types import ASGIApp, Receive, Scope, Send
from msgspec import Meta, Raw, Struct

from leadwire.domain.accounts.reads import why_closed
from leadwire.domain.conversations import pubsub
from leadwire.domain.webhooks import receivers
from leadwire.domain.webhooks.receivers import Acknowledged, Batch, Receiver
from leadwire.domain.webhooks.redrives import Selection
from leadwire.infrastructure.errors import NotFound, Unauthenticated, WorkspaceMoving
from leadwire.infrastructure.rate_limit import RateLimit
from leadwire.interfaces.http import client_network, requests
from leadwire.interfaces.http.middleware import ADDED, WAITED, set_workspace
from leadwire.interfaces.http.responses import JSONResponse, Single
from leadwire.interfaces.http.routes import options
from leadwire.interfaces.receiver.deliveries import HANDLERS, Owner
from leadwire.interfaces.v1.authentication import CHALLENGE, CHECKED_EVERY, FAILURES_A_MINUTE, bearer
from leadwire.interfaces.v1.operations import Asked, Body, Query, get, post

_LIMIT: Final = RateLimit("receiver", 6000, shared=True)
_FAILURES: Final = RateLimit("authentication", FAILURES_A_MINUTE, shared=False)

_Number = Annotated[int, Meta(ge=0, le=2**63 - 1)]
_PLAIN: Final = r"^[!-~]{1,100}\Z"


class After(Struct, frozen=True, kw_only=True):
    """The query of a checkpoint."""

    after: _Number = 0


class Numbers(Struct, forbid_unknown_fields=True, frozen=True, kw_only=True):
    """Which deliveries to send again, both included."""

    first: _Number
    last: _Number


class Replayed(Struct, frozen=True):
    """How many deliveries are sent again."""

    replayed: int


class Wanted(Struct, frozen=True, kw_only=True):
    """The query of a fetch: at most how many deliveries, and for how many seconds to wait for the first."""

    limit: Annotated[int, Meta(ge=1, le=100)] = 10
    wait: Annotated[int, Meta(ge=0, le=30)] = 20


class Arrived(Struct, forbid_unknown_fields=True, frozen=True, kw_only=True):
    """What has arrived, of a batch."""

    lease: Annotated[str, Meta(pattern=_PLAIN)]
    ids: Annotated[list[Annotated[str, Meta(pattern=_PLAIN)]], Meta(max_length=256)]


@get("/checkpoint", scope="")
async def show_checkpoint(receiver: Owner, query: Query[After]) -> JSONResponse[Raw]:
    """What the receiver compares with what it has, signed as a delivery is."""
    checkpoint = await receivers.checkpoint(receiver, query.after)
    headers = [(name.lower().encode(), value.encode()) for name, value in checkpoint.headers]
    return JSONResponse(Raw(checkpoint.body), headers=headers)


@post("/replay", scope="")
async def replay(receiver: Owner, numbers: Body[Numbers]) -> Single[Replayed]:
    """Send what has these numbers again, delivered or dead."""
    try:
        job = await receivers.redrive(receiver, Selection(numbers=(numbers.first, numbers.last), replay=True))
    except NotFound:  # no such number yet, or any more
        return Single(Replayed(0))
    return Single(Replayed(job.total))


@post("/fetch", scope="")
async def fetch(receiver: Owner, query: Query[Wanted], request: Asked) -> Single[Batch]:
    """Hand deliveries out. Without any, wait for one; nothing is handed out to a caller that has gone away, nor to one
    whose token was replaced meanwhile.
    """
    gone = asyncio.create_task(requests.disconnected(request))
    try:
        start = time.perf_counter()
        await receivers.wait(receiver, query.wait, gone, lambda: pubsub.hub.leaving)
        request.scope["state"][WAITED] = waited = time.perf_counter() - start
        if waited >= CHECKED_EVERY:
            await _known(request.scope)
        most = 0 if gone.done() or pubsub.hub.leaving else query.limit
        return Single(await receivers.fetch(receiver, most))
    finally:
        gone.cancel()


@post("/acknowledge", scope="", while_suspended=True)
async def acknowledge(receiver: Owner, arrived: Body[Arrived]) -> Single[Acknowledged]:
    """Take note of what has arrived. Also while the workspace is suspended: it was handed out before."""
    return Single(await receivers.acknowledge(receiver, arrived.lease, arrived.ids))


def _guarded(app: ASGIApp) -> ASGIApp:
    """Put the `Receiver` whose token it is into `request.auth`, before anything else of the request is looked at."""

    async def authenticated(scope: Scope, receive: Receive, send: Send) -> None:
        if scope["method"] != "OPTIONS":  # type: ignore[typeddict-item]
            scope["auth"] = await _receiver(scope)
        await app(scope, receive, send)

    return authenticated


async def _receiver(scope: Scope) -> Receiver:
    """Raise Unauthenticated, RateLimited, WorkspaceSuspended, WorkspaceMoving."""
    loop_time = asyncio.get_running_loop().time()
    try:
        receiver = await _known(scope)
    except Unauthenticated:
        _FAILURES.take(client_network.network(scope), loop_time)
        raise
    set_workspace(receiver.workspace)
    scope["state"][ADDED].extend(_LIMIT.take(receiver.endpoint_id, loop_time))
    if receiver.suspended:
        why = await why_closed(receiver.workspace)
        if isinstance(why, WorkspaceMoving) or not scope["route_handler"].opt.get("while_suspended"):
            raise why
    return receiver


async def _known(scope: Scope) -> Receiver:
    """Raise Unauthenticated."""
    receiver = await receivers.authenticate(bearer(scope["headers"], "token"))
    if receiver is None:
        raise Unauthenticated("The receiver's token is not known, or another has replaced it.", headers=CHALLENGE)
    return receiver


_HANDLERS: Final = (show_checkpoint, replay, fetch, acknowledge, *HANDLERS)
router = Router(
    "/receiver/v1",
    route_handlers=[*_HANDLERS, *options(*_HANDLERS)],
    middleware=[_guarded],
    response_class=JSONResponse,
)
