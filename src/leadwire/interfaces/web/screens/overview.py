"""The first page: how the bots of this workspace are doing."""

import asyncio
from datetime import date, datetime, timedelta
from typing import Annotated

from msgspec import Meta, Struct

from leadwire.domain.bots import reads as bots
from leadwire.domain.conversations import reads as conversations
from leadwire.domain.leads import reads as leads
from leadwire.domain.listing.queries import BotId
from leadwire.domain.webhooks import reads, stats
from leadwire.infrastructure import clock
from leadwire.infrastructure.errors import NotFound
from leadwire.interfaces.web.routes import PageContext, PageResponse, Values, screen


class PeriodQuery(Struct, frozen=True, kw_only=True):
    """The query string of pages about a period."""

    days: Annotated[int, Meta(ge=1, le=90)] = 30
    bot_id: BotId | None = None


@screen("/", "overview.html")
async def overview(context: PageContext) -> PageResponse | Values:
    """Conversations and leads per day, and their scores. Days are UTC. Agents begin in the inbox."""
    if context.me.role == "agent" and not context.request.scope["query_string"]:
        return context.redirect("/inbox")
    query, names, since = await period(context)
    filters = context.workspace, since, query.bot_id
    days = [(since + timedelta(days=number)).date() for number in range(query.days)]
    began, captured, handed_off, webhooks = await asyncio.gather(  # of 90 days with 250,000 leads each takes long
        conversations.by_day(*filters),
        leads.by_day_and_band(*filters),
        conversations.handed_off(*filters),
        _webhooks(context.workspace),
    )
    started: dict[date, int] = {row[0]: row[1] for row in began}
    by_day, by_band = captured
    return {
        "query": query,
        "bots": names,
        "conversations": sum(started.values()),
        "leads": by_day.total(),
        "handoffs": handed_off[0][0],
        "days": [f"{day:%d %b}" for day in days],
        "conversations_by_day": [started.get(day, 0) for day in days],
        "leads_by_day": [by_day[day] for day in days],
        "bands": leads.BAND_NAMES,
        "leads_by_band": [by_band[band] for band in range(leads.BANDS)],
        "webhooks": webhooks,
    }


async def _webhooks(workspace: str) -> stats.Stats | None:
    """Return how all endpoints together do; None where there are none."""
    figures = await stats.of(workspace, [endpoint.id for endpoint in await reads.endpoints(workspace)])
    return stats.together(list(figures.values())) if figures else None


async def period(context: PageContext) -> tuple[PeriodQuery, dict[str, str], datetime]:
    """Return what the query asks for, the names of the bots, and when the period begins. Raise NotFound."""
    query, names = context.query_as(PeriodQuery), await bots.names(context.workspace)
    if query.bot_id is not None and query.bot_id not in names:
        raise NotFound("There is no such bot.")
    today = clock.now().replace(hour=0, minute=0, second=0, microsecond=0)
    return query, names, today - timedelta(days=query.days - 1)
