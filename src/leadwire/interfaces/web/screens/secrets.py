"""An endpoint's secret: shown to admins who have just given their password, and rotated without a gap."""

from typing import Any

from litestar import Response

from leadwire.domain.accounts.changes import audit
from leadwire.domain.webhooks import reads, rotation, samples
from leadwire.infrastructure import settings
from leadwire.interfaces.web.page_context import PageContext
from leadwire.interfaces.web.routes import action, screen
from leadwire.interfaces.web.screens.endpoints import change


@screen("/webhooks/{endpoint_id:str}/secret", role="admin", confirmed=True)
async def secret(context: PageContext) -> Response[str]:
    """The secret, the staged one, and what to do with them. That it was looked at is noted."""
    endpoint = await reads.endpoint(context.workspace, context.path_param("endpoint_id"))
    async with audit.transaction(context.me, "endpoint.secret_seen", endpoint.id):
        revealed, staged = await rotation.reveal(context.workspace, endpoint.id)
    return await context.render(
        "webhooks/rotation.html",
        endpoint=endpoint,
        secret=revealed,
        staged=staged,
        snippets=samples.verifiers(settings.get().header_prefix),
    )


@action("/webhooks/{endpoint_id:str}/secret/stage", shown_on=secret, confirmed=True)
async def stage(context: PageContext) -> Response[Any]:
    """The next secret signs too from now on."""
    page = await change(context, "endpoint.secret_staged", rotation.stage)
    return await context.redirect(f"{page}/secret", "The next secret signs beside the present one.")


@action("/webhooks/{endpoint_id:str}/secret/promote", shown_on=secret, confirmed=True)
async def promote(context: PageContext) -> Response[Any]:
    """The staged secret takes the present one's place."""
    page = await change(context, "endpoint.secret_promoted", rotation.promote)
    return await context.redirect(f"{page}/secret", "The old secret signs nothing any more.")


@action("/webhooks/{endpoint_id:str}/secret/discard", shown_on=secret, confirmed=True)
async def discard(context: PageContext) -> Response[Any]:
    """The staged secret is forgotten."""
    page = await change(context, "endpoint.secret_discarded", rotation.discard)
    return await context.redirect(f"{page}/secret", "The staged secret is forgotten.")
