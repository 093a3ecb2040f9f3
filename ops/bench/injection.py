"""`python -m ops.bench.injection`: CPU of one request when Litestar injects what a handler takes, and when our endpoint
does (`interfaces.v1.operations`). No network, no database: the router, the injection, a small response.
"""

import asyncio
import statistics
import time
from typing import Any

from litestar import Litestar, Request
from litestar import get as litestar_get
from litestar.di import NamedDependency, Provide

from leadwire.domain.accounts import schema as accounts
from leadwire.domain.leads.reads import LeadQuery
from leadwire.interfaces.http import requests
from leadwire.interfaces.http.responses import JSONResponse, Single
from leadwire.interfaces.v1.operations import Caller, Query, get

_CALLER = accounts.Caller("key", "workspace", frozenset(), None, suspended=False)
_REQUESTS, _ROUNDS = 3_000, 9


async def _caller(request: Request[Any, Any, Any]) -> accounts.Caller:
    return request.auth


async def _query(request: Request[Any, Any, Any]) -> LeadQuery:
    return requests.parse(requests.pairs_of(request.scope["query_string"]), LeadQuery)


@litestar_get(
    "/litestar", dependencies={"caller": Provide(_caller), "asked": Provide(_query)}, response_class=JSONResponse
)
async def by_litestar(caller: NamedDependency[accounts.Caller], asked: NamedDependency[LeadQuery]) -> Single[str]:
    """Take two dependencies."""
    return Single(f"{caller.workspace} {asked.limit}")


@get("/ours", scope="none")
async def by_us(caller: Caller, query: Query[LeadQuery]) -> Single[str]:
    """Take the same."""
    return Single(f"{caller.workspace} {query.limit}")


async def _microseconds(app: Litestar, path: str) -> float:
    """Return the CPU time of one request."""

    async def receive() -> Any:
        return {"type": "http.request", "body": b"", "more_body": False}

    async def send(_: Any) -> None:
        pass

    scope = {
        "type": "http", "method": "GET", "scheme": "http", "http_version": "1.1", "path": path, "root_path": "",
        "query_string": b"limit=20", "headers": [], "client": None, "server": None, "auth": _CALLER,
    }  # fmt: skip
    start = time.process_time()
    for _ in range(_REQUESTS):
        await app({**scope, "state": {}}, receive, send)  # type: ignore[arg-type]
    return (time.process_time() - start) / _REQUESTS * 1e6


async def main() -> None:
    """Print the median of several rounds, taken in turns."""
    app = Litestar([by_litestar, by_us], openapi_config=None, logging_config=None)
    rounds = [[await _microseconds(app, path) for path in ("/litestar", "/ours")] for _ in range(_ROUNDS)]
    litestar, ours = map(statistics.median, zip(*rounds, strict=True))
    print(f"injected by Litestar {litestar:.0f} us, by our endpoint {ours:.0f} us: {litestar - ours:.0f} us a request")


if __name__ == "__main__":
    asyncio.run(main())
