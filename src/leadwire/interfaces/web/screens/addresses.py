"""The addresses that webhooks come from, for receivers behind a firewall. Anybody may read them."""

from typing import Any, Final

from litestar import Request
from litestar.handlers import HTTPRouteHandler

from leadwire.infrastructure import settings
from leadwire.infrastructure.errors import NotFound
from leadwire.interfaces.http.responses import JSONResponse
from leadwire.interfaces.http.routes import get
from leadwire.interfaces.web.page_context import PageResponse, render_page


@get("/webhooks/addresses")
async def page(request: Request[Any, Any, Any]) -> PageResponse:
    """For people."""
    return render_page(request, "public/addresses.html", {"addresses": _addresses()})


@get("/webhooks/addresses.json")
async def file() -> JSONResponse[dict[str, list[str]]]:
    """For programs."""
    return JSONResponse({"addresses": _addresses()})


def _addresses() -> list[str]:
    """Networks, a single address without its length. Raise NotFound where the operator has named none."""
    if not (known := settings.get().egress_addresses):
        raise NotFound("Whoever runs this instance has not said which addresses it sends from.")
    return [str(one.network_address) if one.num_addresses == 1 else str(one) for one in known]


OPEN: Final[list[HTTPRouteHandler]] = [page, file]
"""Pages that anybody may open."""
