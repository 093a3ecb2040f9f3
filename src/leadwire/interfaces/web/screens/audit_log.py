"""The audit log: who did what, when, to which object, from where."""

from litestar import Response

from leadwire.domain.accounts import reads
from leadwire.domain.accounts.schema import LogQuery
from leadwire.interfaces.web.page_context import PageContext
from leadwire.interfaces.web.routes import screen


@screen("/audit", role="admin")
async def log(context: PageContext) -> Response[str]:
    """One page of it, newest first."""
    wanted = context.query_as(LogQuery)
    entries, after = await reads.log_page(context.workspace, wanted)
    return await context.render(
        "audit.html",
        wanted=wanted,
        entries=entries,
        after=after,
        actors=await reads.log_actors(context.workspace),
        actions=await reads.log_actions(context.workspace),
    )
