"""The ASGI application: lists every route, and is the only module that knows all of them."""

import functools
from collections.abc import Sequence
from typing import Any, Final

import msgspec
from litestar import Litestar, Request, Response, Router
from litestar.handlers import HTTPRouteHandler
from litestar.types import ASGIApp

from leadwire.domain.accounts.audit.chain import AuditRecorded
from leadwire.domain.conversations.schema import PAYLOADS
from leadwire.domain.leads.schema import Lead, LeadDeleted, LeadUpdated
from leadwire.domain.notices.schema import DeliveryDead, EndpointDisabled, EndpointFailing, EndpointRecovered
from leadwire.domain.webhooks.samples import NAMED_SAMPLES, SAMPLES
from leadwire.infrastructure import settings
from leadwire.infrastructure.telemetry.health import Health, Report
from leadwire.interfaces import docs
from leadwire.interfaces.http.middleware import RequestMiddleware
from leadwire.interfaces.http.responses import JSONResponse
from leadwire.interfaces.http.routes import get
from leadwire.interfaces.receiver import api as receiver
from leadwire.interfaces.receiver import published
from leadwire.interfaces.v1 import bots, conversations, events, exports, leads, me, openapi
from leadwire.interfaces.v1.authentication import ApiKeyGuard
from leadwire.interfaces.v1.idempotency import idempotent
from leadwire.interfaces.web import router
from leadwire.interfaces.widget import api as widget
from leadwire.interfaces.widget import static

EVENTS: Final[dict[str, type[msgspec.Struct]]] = {
    "lead.created": Lead,
    "lead.updated": LeadUpdated,
    "lead.deleted": LeadDeleted,
    **PAYLOADS,
    "audit.recorded": AuditRecorded,
    "endpoint.failing": EndpointFailing,
    "endpoint.disabled": EndpointDisabled,
    "endpoint.recovered": EndpointRecovered,
    "delivery.dead": DeliveryDead,
}


@functools.cache
def _document(app: Litestar) -> dict[str, Any]:
    return openapi.document(app, EVENTS, SAMPLES | NAMED_SAMPLES)


@functools.cache
def _encoded(app: Litestar) -> bytes:
    return msgspec.json.encode(_document(app))


@get("/schema")
async def schema(request: Request[Any, Any, Any]) -> Response[bytes]:
    """Serve the OpenAPI document."""
    return Response(_encoded(request.app), media_type="application/vnd.oai.openapi+json;version=3.1")


@get("/health/live")
async def live() -> dict[str, str]:
    """Report that the process runs."""
    return {"status": "ok"}


def _ready(health: Health) -> HTTPRouteHandler:
    @get("/health/ready")
    async def ready() -> JSONResponse[Report]:
        """Report whether the process can serve requests. Redis does not count: the API works without it."""
        report = await health.report()
        return JSONResponse(report, status_code=200 if report.ready else 503)

    return ready


def create_app(health: Health | None = None, more: Sequence[HTTPRouteHandler] = ()) -> ASGIApp:
    """Return the application, with `more` routes. The process that serves it opens the database and Redis first."""
    v1 = Router(
        "/v1",
        route_handlers=[leads.router, conversations.router, bots.router, events.router, exports.router, me.router],
        middleware=[ApiKeyGuard(settings.get().rate_limit), idempotent],
        response_class=JSONResponse,
    )
    return RequestMiddleware(
        Litestar(
            route_handlers=[
                v1,
                receiver.router,
                published.addresses,
                published.public_keys,
                widget.router,
                static.script,
                *router.handlers(),
                schema,
                *docs.routes(_document),
                live,
                *more,
                _ready(health or Health(needs_redis=False)),
            ],
            exception_handlers={Exception: router.error_response},
            openapi_config=None,
            logging_config=None,
            lifespan=[],
        )
    )
