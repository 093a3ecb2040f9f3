"""The audit log: who did what, when, to which object, from where."""

from litestar import Response

from leadwire.domain.accounts import audit_log
from leadwire.domain.accounts.audit_log import LogQuery
from leadwire.interfaces.web.page_context import PageContext
from leadwire.interfaces.web.routes import screen


@screen("/audit", role="admin")
async def log(context: PageContext) -> Response[str]:
    """One page of it, newest first."""
    wanted = context.asked(LogQuery)
    entries, after = await audit_log.page(context.workspace, wanted)
    return await context.render(
        "audit.html",
        wanted=wanted,
        entries=entries,
        after=after,
        actors=await audit_log.actors(context.workspace),
        actions=await audit_log.actions(context.workspace),
    )
