"""The outermost layer of the ASGI application: request id, trace, security headers, metrics and log line."""

import logging
import os
import re
import time
from collections.abc import Iterable
from typing import Any, Final
from urllib.parse import unquote

from litestar.enums import ScopeType
from litestar.types import ASGIApp, Message, Receive, Scope, Send
from prometheus_client import Counter, Histogram

from leadwire.infrastructure import actor, db, settings, telemetry
from leadwire.infrastructure.telemetry import tracing
from leadwire.infrastructure.telemetry.metrics import counter, histogram
from leadwire.infrastructure.telemetry.tracing import Span
from leadwire.interfaces.http import client_network

REQUESTS: Final = counter(
    "http_requests", "HTTP requests answered, without health probes.", "method", "route", "status"
)
DENIED: Final = counter(
    "connections_refused",
    "Connections refused by a limit. limit process: of all together. limit address: of those from one address.",
    "limit",
    values=("process", "address"),
)
SECONDS: Final = histogram(
    "http_request_duration_seconds",
    "Time until the response begins, without what a fetch waits for a delivery; without health probes.",
    "method",
    "route",
    bounds=(0.001, 0.0025, 0.005, 0.01, 0.025, 0.05, 0.1, 0.25, 0.5, 1, 2.5, 5, 10),
)
_METHODS: Final = frozenset(("GET", "HEAD", "POST", "PUT", "PATCH", "DELETE", "OPTIONS"))
_REFUSED: Final = frozenset((401, 403, 429))
_PROBES: Final = "/health/"
_READS: Final = frozenset(("GET", "HEAD", "OPTIONS"))
ADDED: Final = "leadwire.added_headers"
WAITED: Final = "leadwire.waited"
"""Seconds that a request waited for something to happen: they say nothing of how fast we are."""
_WELL_FORMED_ID: Final = re.compile(rb"[A-Za-z0-9._:-]{1,100}")
_TRACEPARENT: Final = re.compile(rb"00-(?!0{32})[0-9a-f]{32}-(?!0{16})[0-9a-f]{16}-[0-9a-f]{2}")
_SLASH: Final = re.compile("%2f", re.IGNORECASE)
_ALWAYS: Final = [
    (b"x-content-type-options", b"nosniff"),
    (b"cache-control", b"no-store"),
    (b"content-security-policy", b"default-src 'none'; frame-ancestors 'none'"),
]
_UNLESS_OWN: Final = frozenset((b"cache-control", b"content-security-policy"))
_API_PATHS: Final = ("/v1/", "/widget/", "/receiver/")
_STRICT: Final = (b"strict-transport-security", b"max-age=31536000; includeSubDomains")

_cells: dict[tuple[str, str, int], tuple[Counter, Histogram]] = {}


class RequestMiddleware:
    """Wraps the application. A well-formed `X-Request-Id` is kept, anything else replaced."""

    def __init__(self, app: ASGIApp) -> None:
        self.app = app

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        if scope["type"] != ScopeType.HTTP:
            await self.app(scope, receive, send)
            return
        start = time.perf_counter()
        request_id, traceparent = _ids(scope["headers"])
        if b"%2f" in (raw := scope.get("raw_path") or b"").lower():
            # An encoded slash is part of a name: decoded, `lead_x%2F` would be `lead_x/` and find lead_x.
            encoded = raw.partition(b"?")[0].decode("latin-1")
            scope["path"] = unquote(_SLASH.sub("%252F", encoded))
        path = scope["path"]
        if "//" in path or (path.startswith("/v1/") and path.endswith("/")):
            scope["path"] = path.replace("/", "%2F")  # Litestar would ignore the empty segment
        span = tracing.start_request(traceparent)
        telemetry.begin(request_id.decode(), span.traceparent if span else traceparent)
        added = [(b"x-request-id", request_id), *_ALWAYS]
        if settings.get().public_url.startswith("https:") or client_network.scheme(scope) == "https":
            added.append(_STRICT)
        scope.setdefault("state", {})[ADDED] = added  # inner layers may add headers

        async def send_with_headers(message: Message) -> None:
            if message["type"] == "http.response.start":
                own = message["headers"]
                named = _UNLESS_OWN.intersection(dict(own))
                more = [header for header in added if header[0] not in named] if named else added
                message["headers"] = [*own, *more]
                _record(scope, message["status"], time.perf_counter() - start - scope["state"].get(WAITED, 0.0))
                if span:
                    _describe(span, scope, message["status"], request_id.decode())
            await send(message)

        try:
            with db.acting_as("api" if scope["path"].startswith(_API_PATHS) else "pages"):
                await self.app(scope, receive, send_with_headers)
        finally:
            if span:
                span.end()


def count_denied(limit: str) -> None:
    """Count a connection that was answered 503 before it had a request: `process` or `address`."""
    DENIED.labels(limit).inc()


def set_workspace(workspace: str, by: str = actor.VISITOR) -> None:
    """Note whose data the request being handled is about: for its log lines, and for the share of connections. And who
    makes it: for the events of what they change.
    """
    actor.current.set(by)
    telemetry.set_workspace(workspace)
    db.workspace.set(workspace)


def _ids(headers: Iterable[tuple[bytes, bytes]]) -> tuple[bytes, str | None]:
    """Return the request's id, the caller's if it is well-formed, and the caller's trace context."""
    request_id, traceparent = b"", None
    for name, value in headers:
        if name == b"x-request-id" and _WELL_FORMED_ID.fullmatch(value):
            request_id = value
        elif name == b"traceparent" and _TRACEPARENT.fullmatch(value):
            traceparent = value.decode()
    return request_id or b"req_" + os.urandom(12).hex().encode(), traceparent


def _record(scope: Any, status: int, seconds: float) -> None:
    """Count the request, and log it if it changed something, failed, or was refused for who asked.

    Nobody is served by a probe: those of quiet hours would hide what fails, and be what fails while we are not ready.
    """
    route = scope.get("path_template") or "unmatched"
    if not route.startswith(_PROBES):
        count, times = _cells_of(scope["method"], route, status)
        count.inc()
        times.observe(seconds)
    notable = status >= 500 or status in _REFUSED or (status < 400 and scope["method"] not in _READS)
    level = logging.INFO if notable else logging.DEBUG
    if telemetry.enabled(level):
        method, route, ms = scope["method"], scope.get("path_template"), round(seconds * 1000, 1)
        telemetry.log("request.answered", level=level, method=method, route=route, status=status, ms=ms)


def _cells_of(method: str, route: str, status: int) -> tuple[Counter, Histogram]:
    """Return the metrics of a route's template: a path may name a person. Unknown methods are counted as one."""
    if cells := _cells.get((method, route, status)):
        return cells
    label = method if method in _METHODS else "other"
    cells = REQUESTS.labels(label, route, str(status)), SECONDS.labels(label, route)
    if label == method:
        _cells[method, route, status] = cells
    return cells


def _describe(span: Span, scope: Any, status: int, request_id: str) -> None:
    method, route = scope["method"], scope.get("path_template") or "unmatched"
    span.rename(f"{method} {route}")
    attributes = {"http.request.method": method, "http.route": route, "http.response.status_code": status}
    span.annotate(attributes | {"leadwire.request_id": request_id}, failed=status >= 500)
