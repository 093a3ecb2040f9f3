"""The audit log: who did what, when, to which object, from where."""

from litestar import Response

from leadwire.domain.accounts import audit_log
from leadwire.domain.accounts.audit_log import LogQuery
from leadwire.interfaces.web.page_context import Visit
from leadwire.interfaces.web.routes import screen


@screen("/audit", role="admin")
async def log(visit: Visit) -> Response[str]:
    """One page of it, newest first."""
    wanted = visit.asked(LogQuery)
    entries, after = await audit_log.page(visit.workspace, wanted)
    return await visit.page(
        "audit.html",
        wanted=wanted,
        entries=entries,
        after=after,
        actors=await audit_log.actors(visit.workspace),
        actions=await audit_log.actions(visit.workspace),
    )
