"""The instance, for those who operate it: streams, lag, workers, what is overdue, and the ledger."""

from litestar import Response

from leadwire.domain.webhooks import redrives
from leadwire.domain.webhooks import system as reads
from leadwire.infrastructure.errors import Forbidden
from leadwire.interfaces.web.page_context import Visit
from leadwire.interfaces.web.routes import screen


@screen("/system", role="admin")
async def system(visit: Visit) -> Response[str]:
    """How everything stands now, of all workspaces together."""
    _operators_only(visit)
    return await visit.page("system/now.html", now=await reads.now(), jobs=await redrives.listed(None, 20))


@screen("/system/ledger", role="admin")
async def ledger(visit: Visit) -> Response[str]:
    """What must always hold, checked while one waits."""
    _operators_only(visit)
    checks, redis_was_there = await reads.ledger()
    return await visit.page("system/ledger.html", checks=checks, redis_was_there=redis_was_there)


def _operators_only(visit: Visit) -> None:
    if not visit.me.operator:
        raise Forbidden("Only operators see this: admins whom LEADWIRE_OPERATORS names.")
