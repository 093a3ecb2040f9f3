"""`python -m ops.bench.replaced`: CPU of what is ours instead of Litestar's or Piccolo's, beside theirs. No network, no
database. Injection is `ops.bench.injection`.
"""

import asyncio
import statistics
import time
from collections.abc import Awaitable, Callable
from typing import Any

from litestar import Litestar, Response, get
from litestar.datastructures import Headers

from leadwire.domain.leads.table import Lead
from leadwire.infrastructure.db.statements import sql
from leadwire.interfaces.http import requests
from leadwire.interfaces.http.responses import JSONResponse, Single

_CALLS, _ROUNDS = 1_000, 5
_ONE = {"id": "lead_1", "name": "Ada Lovelace", "score": 90}
_HEADERS = [(f"x-header-{n}".encode(), b"value") for n in range(12)] + [(b"if-match", b'"3"')]
_TAG = [(b"etag", b'"3"')]
_KNOWN = sql("SELECT id, name FROM lead WHERE workspace_id = :workspace")

Work = Callable[[], Awaitable[Any]]


@get("/theirs")
async def _theirs() -> Response[Single[dict[str, Any]]]:
    return Response(Single(_ONE), headers={"etag": '"3"'})


@get("/ours", response_class=JSONResponse)
async def _ours() -> JSONResponse[Single[dict[str, Any]]]:
    return JSONResponse(Single(_ONE), headers=_TAG)


def _built() -> Any:
    return Lead.select(Lead.id, Lead.name).where(Lead.workspace_id == "ws_1").default_querystrings


def _requesting(app: Litestar, path: str) -> Work:
    scope = {
        "type": "http", "method": "GET", "scheme": "http", "http_version": "1.1", "path": path, "root_path": "",
        "query_string": b"", "headers": _HEADERS, "client": None, "server": None,
    }  # fmt: skip

    async def receive() -> Any:
        return {"type": "http.request", "body": b"", "more_body": False}

    async def send(_: Any) -> None:
        pass

    return lambda: app({**scope, "state": {}}, receive, send)  # type: ignore[arg-type]


def _called(function: Callable[[], Any]) -> Work:
    async def work() -> Any:
        return function()

    return work


def _pairs() -> dict[str, tuple[Work, Work]]:
    app = Litestar([_theirs, _ours], openapi_config=None, logging_config=None)
    scope: Any = {"headers": _HEADERS}
    return {
        "a request whose response is a struct": (_requesting(app, "/theirs"), _requesting(app, "/ours")),
        "one header of 13": (
            _called(lambda: Headers.from_scope({**scope}).get("if-match")),
            _called(lambda: requests.header({**scope}, b"if-match")),
        ),
        "a query of one table, without running it": (
            _called(lambda: [one.compile_string() for one in _built()]),
            _called(lambda: _KNOWN.arguments({"workspace": "ws_1"})),
        ),
    }


async def _microseconds(work: Work) -> float:
    start = time.process_time()
    for _ in range(_CALLS):
        await work()
    return (time.process_time() - start) / _CALLS * 1e6


async def main() -> None:
    """Print the median of several rounds, taken in turns."""
    for what, pair in _pairs().items():
        rounds = [[await _microseconds(work) for work in pair] for _ in range(_ROUNDS)]
        theirs, ours = map(statistics.median, zip(*rounds, strict=True))
        print(f"{what}: theirs {theirs:.1f} us, ours {ours:.1f} us")


if __name__ == "__main__":
    asyncio.run(main())
