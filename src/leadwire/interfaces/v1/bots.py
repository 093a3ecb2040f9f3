"""Chatbots, which hold the conversations. They are made and changed in the web area."""

from litestar import Router

from leadwire.domain.bots import reads
from leadwire.domain.bots.schema import Bot
from leadwire.domain.listing.queries import NumberedQuery
from leadwire.interfaces.http.responses import Page, PageMeta, Single
from leadwire.interfaces.v1.operations import Caller, Query, get


@get("/", scope="bots:read")
async def list_bots(caller: Caller, query: Query[NumberedQuery]) -> Page[Bot]:
    """List bots.

    Oldest first.
    """
    bots = await reads.shown(caller.workspace)
    first = (query.page - 1) * query.limit
    return Page(bots[first : first + query.limit], PageMeta(len(bots), query.page, query.limit))


@get("/{bot_id:str}", scope="bots:read")
async def show_bot(caller: Caller, bot_id: str) -> Single[Bot]:
    """Retrieve a bot."""
    return Single(await reads.one(caller.workspace, bot_id))


router = Router("/bots", route_handlers=[list_bots, show_bot])
