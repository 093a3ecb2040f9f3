"""The telemetry port: `/metrics`, `/health/live` and `/health/ready` of one process, for its operators only.

A port of its own, so that metrics are never on the public one and the processes without an API have one, too.
"""

import asyncio
import socket
from collections.abc import Awaitable, Callable, MutableMapping
from typing import Any, Final

import msgspec
import uvicorn

from leadwire.infrastructure.serving import serve_until
from leadwire.infrastructure.telemetry import process
from leadwire.infrastructure.telemetry.health import Health

_TEXT: Final = b"text/plain; version=0.0.4; charset=utf-8"
_JSON: Final = b"application/json"

Send = Callable[[MutableMapping[str, Any]], Awaitable[None]]


async def serve(health: Health, listening: socket.socket, stop: asyncio.Event) -> None:
    """Answer on a bound socket until `stop` is set."""

    async def app(scope: MutableMapping[str, Any], _receive: Any, send: Send) -> None:
        if scope["type"] == "http":
            status, kind, body = await _answer(health, scope["path"])
            headers = [(b"content-type", kind), (b"content-length", str(len(body)).encode())]
            await send({"type": "http.response.start", "status": status, "headers": headers})
            await send({"type": "http.response.body", "body": body if scope["method"] != "HEAD" else b""})

    config = uvicorn.Config(
        app, log_config=None, access_log=False, lifespan="off", server_header=False, timeout_graceful_shutdown=1
    )
    await serve_until(stop, config, listening)


async def _answer(health: Health, path: str) -> tuple[int, bytes, bytes]:
    if path == "/metrics":
        return 200, _TEXT, process.exposition()
    if path == "/health/live":
        stuck = health.stuck()
        return (503 if stuck else 200), _JSON, msgspec.json.encode({"status": stuck or "ok"})
    if path == "/health/ready":
        report = await health.report()
        return (200 if report.ready else 503), _JSON, msgspec.json.encode(report)
    return 404, _TEXT, b"/metrics, /health/live, /health/ready\n"
