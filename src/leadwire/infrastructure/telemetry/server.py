"""The telemetry port: `/metrics`, `/health/live` and `/health/ready` of one process, for its operators only.

A port of its own, so that metrics are never on the public one and the processes without an API have one, too.
"""

import asyncio
import platform
import socket
from collections.abc import Awaitable, Callable, MutableMapping
from typing import Any, Final

import msgspec
from prometheus_client import generate_latest

from leadwire import __version__
from leadwire.infrastructure import db
from leadwire.infrastructure.serving import serve_until
from leadwire.infrastructure.serving.connection import Limits
from leadwire.infrastructure.telemetry.health import Health
from leadwire.infrastructure.telemetry.metrics import REGISTRY, Gauge

_BUILD: Final = Gauge("build_info", "Always 1; the version and the role of this process.", "role", "version", "python")
Gauge(
    "db_connections",
    "Database connections of this process: `used`, `idle`, the most it may have (`limit`), and `awaited`: callers"
    " that wait for one.",
    "state",
    read=lambda: {(state,): float(count) for state, count in db.pool_use().items()},
)

_TEXT: Final = b"text/plain; version=0.0.4; charset=utf-8"
_JSON: Final = b"application/json"

Send = Callable[[MutableMapping[str, Any]], Awaitable[None]]


async def serve(role: str, health: Health, listening: socket.socket, stop: asyncio.Event) -> None:
    """Answer on a bound socket until `stop` is set. `role` is what this process is: `serve`, `relay` or `deliver`."""
    _BUILD.show_all({(role, __version__, platform.python_version()): 1.0})

    async def app(scope: MutableMapping[str, Any], _receive: Any, send: Send) -> None:
        if scope["type"] == "http":
            status, kind, body = await _answer(health, scope["path"])
            headers = [(b"content-type", kind), (b"content-length", str(len(body)).encode())]
            await send({"type": "http.response.start", "status": status, "headers": headers})
            await send({"type": "http.response.body", "body": body if scope["method"] != "HEAD" else b""})

    await serve_until(stop, app, listening, limits=Limits())


async def _answer(health: Health, path: str) -> tuple[int, bytes, bytes]:
    if path == "/metrics":
        return 200, _TEXT, generate_latest(REGISTRY)
    if path == "/health/live":
        stuck = health.stuck()
        return (503 if stuck else 200), _JSON, msgspec.json.encode({"status": stuck or "ok"})
    if path == "/health/ready":
        report = await health.report()
        return (200 if report.ready else 503), _JSON, msgspec.json.encode(report)
    return 404, _TEXT, b"/metrics, /health/live, /health/ready\n"
