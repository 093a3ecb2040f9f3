"""The first page: how the bots and the webhooks of this workspace are doing."""

from litestar import Response

from leadwire.pages.routes import screen
from leadwire.pages.visit import Visit


@screen("/")
async def overview(visit: Visit) -> Response[str]:
    """Where to go from here."""
    return await visit.page("overview.html")
