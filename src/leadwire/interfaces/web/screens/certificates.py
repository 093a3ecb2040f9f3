"""The client certificate of an endpoint."""

from leadwire.domain.webhooks import certificates, reads
from leadwire.interfaces.web.page_context import PageContext, PageResponse
from leadwire.interfaces.web.routes import action, screen


@screen("/webhooks/{endpoint_id}/certificate", role="admin", confirmed=True)
async def certificate(context: PageContext, endpoint_id: str) -> PageResponse:
    """What is known of it, and the form for another one. Its key is never shown."""
    shown = await reads.endpoint(context.workspace, endpoint_id)
    return await context.render("webhooks/certificate.html", endpoint=shown)


@action(
    "/webhooks/{endpoint_id}/certificate", shown_on=certificate, confirmed=True, audit="endpoint.certificate_replaced"
)
async def replace(context: PageContext, endpoint_id: str) -> PageResponse:
    given = context.form.text("certificate"), context.form.text("key")
    changed = await certificates.replace(context.workspace, endpoint_id, *given)
    context.entry.detail = f"{changed.certificate_subject}, until {changed.certificate_ends_at}"
    return context.redirect(f"/webhooks/{endpoint_id}", "The certificate is stored, encrypted, and used from now on.")


@action(
    "/webhooks/{endpoint_id}/certificate/remove",
    shown_on=certificate,
    confirmed=True,
    audit="endpoint.certificate_removed",
)
async def remove(context: PageContext, endpoint_id: str) -> PageResponse:
    context.entry.detail = (await reads.endpoint(context.workspace, endpoint_id)).certificate_subject or ""
    await certificates.remove(context.workspace, endpoint_id)
    return context.redirect(f"/webhooks/{endpoint_id}", "The certificate is removed.")
