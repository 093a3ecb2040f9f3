"""Metrics of HTTP requests, by route template: never by path, which may name a person, nor by an unknown method."""

from typing import Any, Final

from leadwire.infrastructure.telemetry.metrics import Count, Counter, Histogram, Times

_METHODS: Final = frozenset(("GET", "HEAD", "POST", "PUT", "PATCH", "DELETE", "OPTIONS"))
_BOUNDS: Final = (0.001, 0.0025, 0.005, 0.01, 0.025, 0.05, 0.1, 0.25, 0.5, 1, 2.5, 5, 10)
_UNMATCHED: Final = "unmatched"

REQUESTS: Final = Counter("http_requests", "HTTP requests answered.", "method", "route", "status")
SECONDS: Final = Histogram(
    "http_request_duration_seconds", "Time to the head of the response.", "method", "route", bounds=_BOUNDS
)

_bound: dict[tuple[str, str, int], tuple[Count, Times]] = {}


def record(scope: Any, status: int, seconds: float) -> None:
    """Count a request whose response begins. The router has put the template of its route into the scope, if any."""
    key = (scope["method"], scope.get("path_template") or _UNMATCHED, status)
    found = _bound.get(key)
    if found is None:
        method, route, _ = key
        method = method if method in _METHODS else "other"
        found = REQUESTS.cell(method, route, str(status)), SECONDS.cell(method, route)
        if key[0] in _METHODS:
            _bound[key] = found
    found[0].value += 1
    found[1].observe(seconds)
