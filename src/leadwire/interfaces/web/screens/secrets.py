"""An endpoint's secret: shown to admins who have just given their password, and rotated without a gap."""

from typing import Any

from litestar import Response

from leadwire.domain.accounts.changes import audit
from leadwire.domain.webhooks import reads, rotation, samples
from leadwire.infrastructure import settings
from leadwire.interfaces.web.page_context import PageContext
from leadwire.interfaces.web.routes import action, screen


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
    endpoint_id = context.path_param("endpoint_id")
    async with audit.transaction(context.me, "endpoint.secret_staged", endpoint_id):
        await rotation.stage(context.workspace, endpoint_id)
    return await context.redirect(f"/webhooks/{endpoint_id}/secret", "The next secret signs beside the present one.")


@action("/webhooks/{endpoint_id:str}/secret/promote", shown_on=secret, confirmed=True)
async def promote(context: PageContext) -> Response[Any]:
    """The staged secret takes the present one's place."""
    endpoint_id = context.path_param("endpoint_id")
    async with audit.transaction(context.me, "endpoint.secret_promoted", endpoint_id):
        await rotation.promote(context.workspace, endpoint_id)
    return await context.redirect(f"/webhooks/{endpoint_id}/secret", "The old secret signs nothing any more.")


@action("/webhooks/{endpoint_id:str}/secret/discard", shown_on=secret, confirmed=True)
async def discard(context: PageContext) -> Response[Any]:
    """The staged secret is forgotten."""
    endpoint_id = context.path_param("endpoint_id")
    async with audit.transaction(context.me, "endpoint.secret_discarded", endpoint_id):
        await rotation.discard(context.workspace, endpoint_id)
    return await context.redirect(f"/webhooks/{endpoint_id}/secret", "The staged secret is forgotten.")
