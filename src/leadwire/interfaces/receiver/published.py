"""What anybody may read: the addresses that deliveries come from, for firewalls, and the keys to verify them."""

from typing import Any, Final

from litestar import Response
from litestar.params import FromPath

from leadwire.domain.webhooks import reads
from leadwire.domain.webhooks.schema import PUBLISHED_BEFORE
from leadwire.interfaces.http.responses import JSONResponse
from leadwire.interfaces.http.routes import get

KEYS: Final = "/.well-known/leadwire/{}/jwks.json"
_KEPT: Final = [(b"cache-control", b"public, max-age=%d" % (PUBLISHED_BEFORE.total_seconds() / 2))]


@get("/webhooks/addresses.json")
async def addresses() -> JSONResponse[dict[str, list[str]]]:
    """As the page `/webhooks/addresses` shows them to people."""
    return JSONResponse({"addresses": reads.egress_addresses()})


@get(KEYS.format("{endpoint_id:str}"))
async def public_keys(endpoint_id: FromPath[str]) -> Response[Any]:
    """A JWK set (RFC 7517) of an endpoint. Where its workspace has gone to another installation, that one has it."""
    keys, moved_to = await reads.public_keys(endpoint_id)
    if moved_to:
        return Response(None, status_code=303, headers={"Location": moved_to + KEYS.format(endpoint_id)})
    return JSONResponse({"keys": [key.jwk for key in keys]}, headers=_KEPT, kind=b"application/jwk-set+json")
