"""Our server without one feature: `python -m ops.bench.api.variants PIECE serve ...`.

Each function replaces its piece by one that does nothing, before the app is made. The product has no such switches.
Left out, as they cannot be taken out sensibly: the router, problem documents (no cost until something is wrong), exact
totals (their cost is PostgreSQL's), waiting for the database.
"""

import asyncio
import sys
from collections.abc import Callable
from typing import Any, NamedTuple

import msgspec

from leadwire import app
from leadwire.__main__ import main
from leadwire.delivery.outbox import Event
from leadwire.delivery.streams import push
from leadwire.infrastructure import telemetry
from leadwire.infrastructure.db.statements import Statement
from leadwire.infrastructure.rate_limit import RateLimit
from leadwire.interfaces.http import body, requests, responses
from leadwire.interfaces.http.middleware import ADDED
from leadwire.interfaces.http.responses import JSONResponse, Single, Tagged
from leadwire.interfaces.v1 import operations
from leadwire.interfaces.v1.authentication import ApiKeyGuard


class Variant(NamedTuple):
    """`does` is what the piece does, `kinds` the requests it is measured on."""

    does: str
    kinds: tuple[str, ...]
    take_out: Callable[[], None]


def _nothing() -> None:
    pass


def _authentication() -> None:
    class AdmitAll(ApiKeyGuard):
        """The first caller stands for all."""

        _caller: Any = None

        async def _admit(self, scope: Any, needed: str) -> None:
            if self._caller is None:
                await super()._admit(scope, needed)
                self._caller = scope["auth"]
            else:
                now = asyncio.get_running_loop().time()
                scope["state"][ADDED].extend(self._limit.take(self._caller.key_id, now))
                scope["auth"] = self._caller

    app.ApiKeyGuard = AdmitAll


def _rate_limit() -> None:
    RateLimit.take = lambda *_: []


def _middleware() -> None:
    def bare(inner: Any) -> Any:
        async def passed_on(scope: Any, receive: Any, send: Any) -> None:
            scope.setdefault("state", {})[ADDED] = []
            await inner(scope, receive, send)

        return passed_on

    app.RequestMiddleware = bare


def _etag() -> None:
    operations.RESPONSES[Tagged] = lambda _, found: JSONResponse(Single(found.data))


def _idempotency() -> None:
    app.idempotent = lambda app: app


def _body() -> None:
    async def decoded(request: Any) -> Any:
        return msgspec.json.decode(await request.body())

    body.json_object = decoded


def _query() -> None:
    requests.pairs_of = lambda _: [("limit", "20")]
    requests.parse = lambda _, model: model(limit=20)


def _links() -> None:
    responses._linked = lambda _, page, *__: JSONResponse(page)  # noqa: SLF001


def _event() -> None:
    async def change_alone(_: Event, change: Statement, **values: object) -> bool:
        return bool(await change.rows(**{name: [value] for name, value in values.items()}, event=["evt"]))

    Event.record_with = change_alone


def _trace() -> None:
    telemetry.traceparent = lambda: None


def _nudge() -> None:
    push.wake_relay = lambda: None


_ONE = ("lead", "patch")
VARIANTS = {
    "nothing": Variant("nothing: two whole servers", ("lead", "patch", "list"), _nothing),
    "authentication": Variant("API key, scope, note of its use", _ONE, _authentication),
    "rate_limit": Variant("rate limit, settled through Redis, and its headers", _ONE, _rate_limit),
    "middleware": Variant("request id, trace context, security headers", _ONE, _middleware),
    "etag": Variant("ETag, If-None-Match", _ONE, _etag),
    "idempotency": Variant("Idempotency-Key, when none is sent", _ONE, _idempotency),
    "body": Variant("strict body: type, encoding, size, an object", ("patch",), _body),
    "event": Variant("the event: its text and its row, in the same statement", ("patch",), _event),
    "trace": Variant("a trace begun for the event", ("patch",), _trace),
    "nudge": Variant("waking the relay", ("patch",), _nudge),
    "query": Variant("strict query", ("list",), _query),
    "links": Variant("Link header", ("list",), _links),
}

if __name__ == "__main__":
    VARIANTS[sys.argv[1]].take_out()
    main(*sys.argv[2:])
