"""What receivers may know of webhooks: the addresses that they come from, for firewalls, and the keys to verify them.
Anybody may read both.
"""

from typing import Any, Final

from litestar import Request, Response
from litestar.params import FromPath

from leadwire.domain.webhooks import reads
from leadwire.domain.webhooks.schema import PUBLISHED_BEFORE
from leadwire.infrastructure import settings
from leadwire.infrastructure.errors import NotFound
from leadwire.interfaces.http.responses import JSONResponse
from leadwire.interfaces.http.routes import get
from leadwire.interfaces.web.page_context import PageResponse, redirect, render_page

KEYS: Final = "/.well-known/leadwire/{}/jwks.json"
_KEPT: Final = [(b"cache-control", b"public, max-age=%d" % (PUBLISHED_BEFORE.total_seconds() / 2))]


@get("/webhooks/addresses")
async def page(request: Request[Any, Any, Any]) -> PageResponse:
    """For people."""
    return render_page(request, "public/addresses.html", {"addresses": _addresses()})


@get("/webhooks/addresses.json")
async def file() -> JSONResponse[dict[str, list[str]]]:
    """For programs."""
    return JSONResponse({"addresses": _addresses()})


@get(KEYS.format("{endpoint_id:str}"))
async def public_keys(endpoint_id: FromPath[str]) -> Response[Any]:
    """A JWK set (RFC 7517) of an endpoint. Where its workspace has gone to another installation, that one has it."""
    keys, moved_to = await reads.public_keys(endpoint_id)
    if moved_to:
        return redirect(moved_to + KEYS.format(endpoint_id))
    return JSONResponse({"keys": [key.jwk for key in keys]}, headers=_KEPT, kind=b"application/jwk-set+json")


def _addresses() -> list[str]:
    """Networks, a single address without its length. Raise NotFound where the operator has named none."""
    if not (networks := settings.get().egress_addresses):
        raise NotFound("Whoever runs this instance has not said which addresses it sends from.")
    return [str(network.network_address) if network.num_addresses == 1 else str(network) for network in networks]
