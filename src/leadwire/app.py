"""The ASGI app: every door, and nothing else. The only place that knows all of them."""

from typing import Any, Final

import msgspec
from litestar import Litestar, Request, Response, Router
from litestar.types import ASGIApp

from leadwire import db, settings
from leadwire.accounts.guards import ApiKeyGuard
from leadwire.conversations import api as conversations
from leadwire.conversations.schema import ConversationEnded, ConversationHandoff, ConversationStarted, MessageEvent
from leadwire.leads import api as leads
from leadwire.leads.schema import Lead, LeadDeleted, LeadUpdated
from leadwire.web import openapi, problems
from leadwire.web.edge import Edge
from leadwire.web.idempotency import Idempotency
from leadwire.web.routes import get

EVENTS: Final[dict[str, type[msgspec.Struct]]] = {
    "lead.created": Lead,
    "lead.updated": LeadUpdated,
    "lead.deleted": LeadDeleted,
    "conversation.started": ConversationStarted,
    "conversation.ended": ConversationEnded,
    "conversation.handoff": ConversationHandoff,
    "message.sent": MessageEvent,
    "message.received": MessageEvent,
}


@get("/schema")
async def schema(request: Request[Any, Any, Any]) -> Response[bytes]:
    """The OpenAPI document."""
    made = msgspec.json.encode(openapi.document(request.app, EVENTS))
    return Response(made, media_type="application/vnd.oai.openapi+json;version=3.1")


@get("/health/live")
async def live() -> dict[str, str]:
    """The process answers."""
    return {"status": "ok"}


@get("/health/ready")
async def ready() -> dict[str, str]:
    """The database answers. Redis does not count: the API works without it. Writes nothing."""
    await db.value("SELECT 1")
    return {"status": "ok"}


def create_app() -> ASGIApp:
    """The app, ready for a server. The process opens the database and Redis around it."""
    v1 = Router(
        "/v1",
        route_handlers=[leads.router, conversations.router],
        middleware=[ApiKeyGuard(settings.get().rate_limit), Idempotency()],
    )
    return Edge(
        Litestar(
            route_handlers=[v1, schema, live, ready],
            exception_handlers={Exception: problems.answer},
            openapi_config=None,
            logging_config=None,
            lifespan=[],
        )
    )
