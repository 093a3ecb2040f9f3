"""What a process tells its operators, on a port of its own: `/health/live`, `/health/ready` and `/metrics`.

Not alive means that only a restart helps: a loop has stopped, or work does not progress. A server that is unavailable
is no reason for that, as every loop keeps trying. Not ready names what is missing. Where a process works without Redis,
its absence is `degraded`, and still ready; so is a PostgreSQL that can be read only, or where a lock makes changes wait
until their limit. The port keeps metrics off the public one, and a process without an API has one, too.
"""

import asyncio
import functools
import ipaddress
import platform
import socket
from collections.abc import Awaitable, Callable, Collection, Mapping, MutableMapping
from typing import Any, Final, Literal
from urllib.parse import urlsplit

import msgspec
from prometheus_client import generate_latest

from leadwire import __version__
from leadwire.infrastructure import db, redis_pool
from leadwire.infrastructure.serving import serve_until
from leadwire.infrastructure.settings import Settings
from leadwire.infrastructure.telemetry.metrics import REGISTRY, Gauge

_MINUTE: Final = 60.0  # seconds
_BUILD: Final = Gauge("build_info", "Always 1; the version and the role of this process.", "role", "version", "python")
Gauge(
    "db_connections",
    "Database connections of this process: `used`, `idle`, the most it may have (`limit`), `awaited`: callers that wait"
    " for one, and `held_back`: those of them whose workspace has its share.",
    "state",
    read=lambda: {(state,): float(count) for state, count in db.pool_use().items()},
)
Gauge(
    "writes_refused",
    f"Changes that PostgreSQL has refused this process within {_MINUTE:g} s; QueryCanceledError: they took too long.",
    "reason",
    read=lambda: {(reason,): float(count) for reason, count in db.DB.refused(_MINUTE).items()},
)

_TEXT: Final = b"text/plain; version=0.0.4; charset=utf-8"
_JSON: Final = b"application/json"
_MISDIRECTED: Final = 421, _TEXT, b"Ask by an address, or by one of LEADWIRE_TELEMETRY_NAMES.\n"

Send = Callable[[MutableMapping[str, Any]], Awaitable[None]]
Check = Callable[[], Awaitable[str | None]]
"""Returns what is wrong, or None."""

_LIMIT: Final = 1.0  # seconds for each check
_REFUSED_FOR: Final = 15.0  # seconds; who has work tries again sooner


Status = Literal["ok", "degraded", "unready"]


class Report(msgspec.Struct):
    """`checks` says of each what is wrong, or `ok`."""

    status: Status
    checks: dict[str, str]

    @property
    def ready(self) -> bool:
        """Whether work may be sent here."""
        return self.status != "unready"


class Health:
    """Of one process. `needs_redis`: it has nothing to do without. `checks` are further conditions of being ready."""

    def __init__(self, *, needs_redis: bool, checks: Mapping[str, Check] | None = None) -> None:
        self._needs_redis = needs_redis
        self._checks = {"database": _database, **(checks or {}), "redis": _redis}
        self._running: dict[str, asyncio.Future[str | None]] = {}
        self.stuck: Callable[[], str | None] = lambda: None
        """Returns why this process is not alive, or None."""
        self.stopping: Callable[[], bool] = lambda: False
        """Whether it is stopping."""

    async def report(self) -> Report:
        """Whether it is ready, and what of it is not."""
        answers = await asyncio.gather(*(self._ask(name) for name in self._checks))
        wrong = {name: said for name, said in zip(self._checks, answers, strict=True) if said}
        if self.stopping():
            wrong["process"] = "stopping"
        if refused := db.DB.refused(_REFUSED_FOR):
            wrong["writes"] = f"refused by PostgreSQL: {', '.join(refused)}"
        status: Status = "unready" if wrong else "ok"
        if wrong and wrong.keys() <= {"redis", "writes"} and not self._needs_redis:
            status = "degraded"
        return Report(status, dict.fromkeys(self._checks, "ok") | wrong)

    async def _ask(self, name: str) -> str | None:
        """What a check says. One that takes too long goes on, so that probes do not pile up on a server that hangs."""
        running = self._running.get(name)
        if running is None:
            running = self._running[name] = asyncio.ensure_future(self._checks[name]())
            running.add_done_callback(functools.partial(self._ended, name))
        done, _ = await asyncio.wait([running], timeout=_LIMIT)
        if not done:
            return f"no answer within {_LIMIT:g} s"
        error = running.exception()
        return type(error).__name__ if error else running.result()

    def _ended(self, name: str, running: "asyncio.Future[str | None]") -> None:
        """What it says is of its own time: a later probe asks anew."""
        del self._running[name]
        if not running.cancelled():
            running.exception()  # nobody may be there any more to look at it


async def _database() -> str | None:
    await db.value("SELECT 1")
    return None


async def _redis() -> str | None:
    client = redis_pool.client()
    if client is None:
        return "not connected"
    await redis_pool.check_writes(client)  # a replica answers PING as well
    return None


async def serve_health(
    role: str, health: Health, listening: socket.socket, stop: asyncio.Event, names: Collection[str] = ()
) -> None:
    """Answer on a bound socket until `stop` is set. `role` is the command of this process.

    A request names us by an address, as `localhost`, by one of `names`, or, in HTTP/1.0, not at all. Any other name may
    be a website's, which lets it lead here to read this by a visitor's browser (DNS rebinding).
    """
    _BUILD.show_all({(role, __version__, platform.python_version()): 1.0})

    async def app(scope: MutableMapping[str, Any], _receive: Any, send: Send) -> None:
        if scope["type"] == "http":
            is_ours = _is_ours(dict(scope["headers"]).get(b"host", b"localhost").decode("latin-1"), names)
            status, kind, body = await _answer(health, scope["path"]) if is_ours else _MISDIRECTED
            headers = [(b"content-type", kind), (b"content-length", str(len(body)).encode())]
            await send({"type": "http.response.start", "status": status, "headers": headers})
            await send({"type": "http.response.body", "body": body if scope["method"] != "HEAD" else b""})

    await serve_until(stop, app, listening, limits=Settings())


def _is_ours(host: str, names: Collection[str]) -> bool:
    try:
        name = urlsplit(f"//{host}").hostname or ""
        return name == "localhost" or name in names or bool(ipaddress.ip_address(name))
    except ValueError:
        return False


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
