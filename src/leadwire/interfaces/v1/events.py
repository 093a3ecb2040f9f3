"""What happened, in the order of commits: what webhooks tell of, to be read again."""

import asyncio
import time

from litestar import Router

from leadwire.domain.conversations import pubsub
from leadwire.domain.feed import reads
from leadwire.domain.feed.reads import Event, FeedQuery
from leadwire.interfaces.http import requests
from leadwire.interfaces.http.middleware import WAITED
from leadwire.interfaces.http.responses import Feed, FeedMeta, Single
from leadwire.interfaces.v1 import authentication
from leadwire.interfaces.v1.operations import Asked, Caller, Query, get


@get("/", scope="events:read")
async def list_events(caller: Caller, query: Query[FeedQuery], request: Asked) -> Feed[Event]:
    """List events.

    Oldest first, in the order of their commits: an event never turns up before one that was shown. Events about people
    who were erased are left out. While one that comes first is not committed yet, those behind it are held back, which
    `meta` says. With `wait`, an empty page is sent only after that time; at most 5 requests of a key wait at once.
    """
    gone = asyncio.create_task(requests.disconnected(request))
    start = time.perf_counter()
    try:
        page = await reads.page(caller.workspace, caller.key_id, query, lambda: gone.done() or pubsub.hub.leaving)
    finally:
        gone.cancel()
        if query.wait:
            request.scope["state"][WAITED] = time.perf_counter() - start
    if time.perf_counter() - start >= authentication.CHECKED_EVERY:
        await authentication.check_again(request.scope)
    return Feed(page.events, FeedMeta(page.next_cursor, page.has_more, page.held_back_since))


@get("/{event_id:str}", scope="events:read")
async def show_event(caller: Caller, event_id: str) -> Single[Event]:
    """Retrieve an event.

    As long as events are kept. One about somebody who was erased is gone with them.
    """
    return Single(await reads.one(caller.workspace, event_id))


router = Router("/events", route_handlers=[list_events, show_event])
