"""Authentication of /v1: an API key and its scope, checked before anything else of the request."""

import asyncio
import functools
import math
from typing import Any, Final

from litestar.types import ASGIApp, Receive, Scope, Send

from leadwire.domain.accounts import changes, networks, reads
from leadwire.domain.accounts.schema import Caller
from leadwire.domain.listing.listing import SKIPPED
from leadwire.infrastructure import redis_pool, telemetry
from leadwire.infrastructure.errors import AddressNotAllowed, InsufficientScope, Unauthenticated
from leadwire.infrastructure.rate_limit import RateLimit
from leadwire.interfaces.http import body, client_network
from leadwire.interfaces.http.middleware import ADDED, set_workspace

CHALLENGE: Final = {"WWW-Authenticate": 'Bearer realm="leadwire"'}
_ELSEWHERE: Final = "This API key may not be used from the address that the request came from."
_LONGEST: Final = 200  # characters of a header worth looking at
FAILURES_A_MINUTE: Final = 60  # per network
CHECKED_EVERY: Final = 5.0
"""Seconds for which what goes on for long may do so without a look whether its key has ended."""
ROWS: Final = 10_000
"""So many rows that a page by number skips are worth a request."""
_NOTE_EVERY: Final = 60.0  # seconds between two notes that a key was used

_noted: dict[str, float] = {}  # key -> when its use was noted last, by the loop's time


class ApiKeyGuard:
    """Puts the `Caller` into `request.auth`. A handler names the scope that it needs: `scope="leads:read"`; any key
    will do for `scope=""`.
    """

    def __init__(self, rate_limit: int) -> None:
        self._limit = RateLimit("default", rate_limit, shared=True)
        self._failures = RateLimit("authentication", FAILURES_A_MINUTE, shared=False)

    def __call__(self, app: ASGIApp) -> ASGIApp:
        async def authenticated(scope: Scope, receive: Receive, send: Send) -> None:
            needed = scope["route_handler"].opt.get("scope")
            if needed is None:
                await app(scope, receive, send)
                return
            limit = await self._admit(scope, needed)
            body.look_again(scope, CHECKED_EVERY, functools.partial(check_again, scope))
            SKIPPED.set(0)
            await app(scope, receive, send)
            if more := SKIPPED.get() // ROWS:
                limit.charge(scope["auth"].key_id, more)

        return authenticated

    async def _admit(self, scope: Scope, needed: str) -> RateLimit:
        """Return its caller's limit. Raise Unauthenticated, AddressNotAllowed, RateLimited, WorkspaceSuspended,
        WorkspaceMoving or InsufficientScope.
        """
        loop_time = asyncio.get_running_loop().time()
        try:
            caller = await reads.caller(bearer(scope["headers"], "API key"), loop_time)
            if caller is None:
                raise _unknown()
        except Unauthenticated:
            self._failures.take(client_network.network(scope), loop_time)
            raise
        set_workspace(caller.workspace, caller.key_id)
        if caller.networks and not networks.allow(client_network.address(scope), caller.networks):
            self._failures.take(client_network.network(scope), loop_time)
            telemetry.warn("key.address_refused", key=caller.key_id)
            raise AddressNotAllowed(_ELSEWHERE)
        limit = self._limit if caller.requests is None else _own_limit(caller.requests)
        scope["state"][ADDED].extend(limit.take(caller.key_id, loop_time))
        if caller.suspended:
            raise await reads.why_closed(caller.workspace)
        if needed and needed not in caller.scopes:
            raise InsufficientScope(f"This key lacks the scope {needed}.")
        scope["auth"] = caller
        if _noted.get(caller.key_id, -math.inf) < loop_time - _NOTE_EVERY:
            _note(caller, loop_time)
        return limit


async def check_again(scope: Scope) -> None:
    """See that its key may still be used. Raise Unauthenticated, AddressNotAllowed, and what `reads.why_closed`
    returns.
    """
    caller = scope["auth"]
    if (key := await reads.in_use(caller.key_id)) is None:
        raise await reads.why_closed(caller.workspace) if await reads.suspended([caller.workspace]) else _unknown()
    if not networks.allow(client_network.address(scope), key["networks"]):
        raise AddressNotAllowed(_ELSEWHERE)


def _unknown() -> Unauthenticated:
    return Unauthenticated("The API key is not known, or not valid any more.", headers=CHALLENGE)


@functools.lru_cache(maxsize=1000)
def _own_limit(requests: int) -> RateLimit:
    """The limit of the keys of workspaces that may send so many a minute."""
    return RateLimit("default", requests, shared=True)


def bearer(headers: Any, what: str) -> str:
    """Return `what` the one Authorization header carries. Raise Unauthenticated."""
    values = [value for name, value in headers if name == b"authorization"]
    if len(values) != 1:
        problem = f"Send `Authorization: Bearer <{what}>`." if not values else "Send one Authorization header."
        raise Unauthenticated(problem, headers=CHALLENGE)
    scheme, _, token = values[0].partition(b" ")
    if scheme.lower() != b"bearer" or len(values[0]) > _LONGEST:
        raise Unauthenticated(f"Send `Authorization: Bearer <{what}>`.", headers=CHALLENGE)
    return str(token, "latin-1").strip(" ")


def _note(caller: Caller, loop_time: float) -> None:
    """Store the use in the background: not in the transaction of the request."""
    if len(_noted) > 10_000:
        _noted.clear()
    _noted[caller.key_id] = loop_time
    redis_pool.run_in_background(_write(caller))


async def _write(caller: Caller) -> None:
    try:
        await changes.note_use([caller.key_id])
    except Exception as error:  # noqa: BLE001 - a note is not worth a failed request; the next request tries again
        names = {"workspace_id": caller.workspace, "key": caller.key_id}
        telemetry.warn("key.use_not_noted", error=error, **names)
        _noted.pop(caller.key_id, None)
