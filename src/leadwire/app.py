"""The ASGI app: every door, and nothing else. The only place that knows all of them."""

from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from typing import Any, Final

import msgspec
from litestar import Litestar, Request, Response, Router
from litestar.types import ASGIApp

from leadwire import db, redis_pool, settings
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


@asynccontextmanager
async def connections(
    database_url: str, redis_url: str, pool_size: int, *, one_plan: bool = False
) -> AsyncIterator[None]:
    """The database pool (`one_plan` as for `db.open_pool`) and the Redis client, open inside the block."""
    await db.open_pool(database_url, pool_size, one_plan=one_plan)
    redis_pool.connect(redis_url)
    try:
        yield
    finally:
        await redis_pool.close()
        await db.close_pool()
