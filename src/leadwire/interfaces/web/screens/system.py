"""The instance, for those who operate it: streams, lag, workers, what is overdue, and the ledger."""

from leadwire.domain.webhooks import redrives
from leadwire.domain.webhooks import system as reads
from leadwire.infrastructure.errors import Forbidden
from leadwire.interfaces.web.page_context import PageContext, PageResponse
from leadwire.interfaces.web.routes import screen


@screen("/system", role="admin")
async def system(context: PageContext) -> PageResponse:
    """How everything stands now, of all workspaces together."""
    _operators_only(context)
    return await context.render("system/now.html", now=await reads.now(), jobs=await redrives.listed(None, 20))


@screen("/system/ledger", role="admin")
async def ledger(context: PageContext) -> PageResponse:
    """What must always hold, checked while one waits."""
    _operators_only(context)
    checks, redis_was_there = await reads.ledger()
    return await context.render("system/ledger.html", checks=checks, redis_was_there=redis_was_there)


def _operators_only(context: PageContext) -> None:
    if not context.me.operator:
        raise Forbidden("Only operators see this: admins whom LEADWIRE_OPERATORS names.")
