"""Webhook endpoints: how they do, what they are told, how they are kept, and the filter of what they are sent."""

from typing import Final

from leadwire.domain.bots import reads as bots
from leadwire.domain.webhooks import certificates, changes, custom_headers, history, preview, reads, receivers, stats
from leadwire.domain.webhooks.filters import Filter
from leadwire.domain.webhooks.schema import REMOVED, EndpointChange
from leadwire.infrastructure import settings
from leadwire.infrastructure.errors import Invalid, NotFound
from leadwire.interfaces.web import security
from leadwire.interfaces.web.forms import Form
from leadwire.interfaces.web.routes import PageContext, PageResponse, Seen, Values, action, live, screen

PERIODS: Final = {"24": "24 hours", "168": "7 days"}
_AWAITED: Final = "1"
_TRIED: Final = 24 * 7  # hours whose events a filter is tried against
_CERTIFICATE: Final = "/webhooks/{endpoint_id}/certificate"


@screen("/webhooks", "webhooks/list.html")
async def endpoints(context: PageContext) -> Values:
    """Every endpoint with its last day; without one, how to get there."""
    listed = await reads.endpoints(context.workspace)
    figures = await stats.of(context.workspace, [endpoint.id for endpoint in listed])
    return {"endpoints": listed, "figures": figures}


@screen("/webhooks/{endpoint_id}", "webhooks/endpoint.html")
async def endpoint(context: PageContext, endpoint_id: str) -> Values:
    """One endpoint: plots, its deliveries, its settings, a test."""
    endpoint = await reads.endpoint(context.workspace, endpoint_id)
    period = chosen if (chosen := context.query.text("period")) in PERIODS else "24"
    figures = (await stats.of(context.workspace, [endpoint.id], int(period)))[endpoint.id]
    stage = context.query.text("stage")
    page = await history.page(context.workspace, history.Filter(endpoint_id=endpoint.id, stage=stage), limit=20)
    if (first := context.query.text("first")) == _AWAITED:  # the address names the first event once there is one
        first = next((row.event_id for row in reversed(page.rows) if not row.test), first)
    return {
        "endpoint": endpoint,
        "known": figures,
        "period": period,
        "periods": PERIODS,
        "stage": stage,
        "page": page,
        "tested": await about(context, endpoint.id, context.query.text("test")),
        "days": await stats.by_day(context.workspace, endpoint.id),
        "first": first,
        "begun": await about(context, endpoint.id, first),
        "most_to_new": settings.get().new_host_rate,
    }


@live("/webhooks/{endpoint_id}/live")
async def endpoint_live(context: PageContext, endpoint_id: str) -> Seen:
    """Tells when an attempt was made: of the first ones at once, later as they are counted."""
    endpoint = await reads.endpoint(context.workspace, endpoint_id)
    if attempts := await stats.attempts(endpoint.id):
        return attempts, False
    rows = (await history.page(context.workspace, history.Filter(endpoint_id=endpoint.id), limit=1)).rows
    return tuple((row.event_id, row.state, row.attempts) for row in rows), False


@screen("/webhooks/{endpoint_id}/settings", "webhooks/settings.html", role="admin")
async def kept(context: PageContext, endpoint_id: str) -> Values:
    """Its address, events and secret; what few need is folded."""
    return {"endpoint": await reads.endpoint(context.workspace, endpoint_id)}


@action("/webhooks/{endpoint_id}/settings", shown_on=kept, confirmed=True, audit="endpoint.changed")
async def configure(context: PageContext, endpoint_id: str) -> str:
    """URL, events, order, rate and more. A URL of another origin loses the custom headers."""
    before = await reads.endpoint(context.workspace, endpoint_id)
    change = EndpointChange(
        url=changes.receiver(*(context.form.text(name) for name in ("url", "way"))),
        events=context.form.chosen("event", before.events),
        **context.form.given(context.form.on, "ordered", "numbered", "ed25519", "auto_redrive"),
        **context.form.given(context.form.number, "rate_limit"),
    )
    changed = await changes.configure(context.workspace, endpoint_id, change, context.form.text("seen"))
    context.entry.detail = "; ".join(changed.changes)
    removed = f" {REMOVED}: {', '.join(changed.removed_headers)}." if changed.removed_headers else ""
    return f"Saved. It holds from the next attempt on.{removed}"


@action("/webhooks/{endpoint_id}/headers", shown_on=kept, confirmed=True, audit="endpoint.headers_changed")
async def own_headers(context: PageContext, endpoint_id: str) -> str:
    """The endpoint's own headers, all at once: what is stored is not shown again."""
    change = EndpointChange(headers=custom_headers.parsed(context.form.text("headers")))
    context.entry.detail = "; ".join((await changes.configure(context.workspace, endpoint_id, change)).changes)
    return "The headers are stored, encrypted."


@action("/webhooks/{endpoint_id}/enable", shown_on=endpoint, audit="endpoint.enabled")
async def enable(context: PageContext, endpoint_id: str) -> PageResponse:
    await changes.enable(context.workspace, endpoint_id)
    return context.redirect(f"/webhooks/{endpoint_id}?first={_AWAITED}", "Enabled. Events flow from now on.")


@action("/webhooks/{endpoint_id}/disable", shown_on=endpoint, audit="endpoint.disabled")
async def disable(context: PageContext, endpoint_id: str) -> str:
    await changes.disable(context.workspace, endpoint_id)
    return "Disabled. What waits keeps waiting."


@action("/webhooks/{endpoint_id}/delete", shown_on=kept, confirmed=True, audit="endpoint.deleted")
async def delete(context: PageContext, endpoint_id: str) -> PageResponse:
    """Remove it; what it was still owed is canceled."""
    context.entry.detail = url = (await reads.endpoint(context.workspace, endpoint_id)).url
    await changes.delete(context.workspace, endpoint_id)
    return context.redirect("/webhooks", f"{url} is removed.")


@action("/webhooks/{endpoint_id}/discard", shown_on=endpoint, confirmed=True, audit="endpoint.discarded")
async def discard(context: PageContext, endpoint_id: str) -> str:
    """Cancel what waits for it."""
    count = await changes.discard(context.workspace, endpoint_id)
    context.entry.detail = f"waiting: {count} -> 0"
    return f"{count} waiting deliveries are being canceled."


@action("/webhooks/{endpoint_id}/test", shown_on=endpoint, audit="endpoint.tested")
async def test(context: PageContext, endpoint_id: str) -> PageResponse:
    """A sample event over the real path; works while disabled."""
    context.entry.detail = await changes.send_test(context.workspace, endpoint_id, context.form.text("kind") or None)
    page = f"/webhooks/{endpoint_id}/setup/test" if context.form.text("on") == "setup" else f"/webhooks/{endpoint_id}"
    return context.redirect(f"{page}?test={context.entry.detail}#test")


async def about(context: PageContext, endpoint_id: str, event_id: str) -> object:
    """The delivery of an event that the address names, None of another; of a test still to be relayed, its id."""
    if not event_id:
        return None
    try:
        deliveries = await reads.deliveries_of(context.workspace, event_id, endpoint_id, awaited=True)
    except NotFound:
        return None
    return deliveries[0] if deliveries else event_id


@action("/webhooks/{endpoint_id}/token", shown_on=kept, confirmed=True, audit="endpoint.token_created")
async def make_token(context: PageContext, endpoint_id: str) -> PageResponse:
    """The receiver's token, on the one page that ever shows it."""
    token = await receivers.make_token(context.workspace, endpoint_id)
    curl = f"curl -s -H 'Authorization: Bearer {token}' '{security.public_url(context.request)}/receiver/v1/checkpoint'"
    way = {"crumbs": [("/webhooks", "Endpoints"), (f"/webhooks/{endpoint_id}", "The endpoint")], "curl": curl}
    besides = "The one before it is refused from now on."
    return await context.render("once.html", 201, title="The receiver's token", secret=token, besides=besides, **way)


@screen(_CERTIFICATE, "webhooks/certificate.html", role="admin", confirmed=True)
async def certificate(context: PageContext, endpoint_id: str) -> Values:
    """What is known of it, and the form for another one. Its key is never shown."""
    return {"endpoint": await reads.endpoint(context.workspace, endpoint_id)}


@action(_CERTIFICATE, shown_on=certificate, confirmed=True, audit="endpoint.certificate_replaced")
async def replace_certificate(context: PageContext, endpoint_id: str) -> PageResponse:
    pem = context.form.text("certificate"), context.form.text("key")
    changed = await certificates.replace(context.workspace, endpoint_id, *pem)
    context.entry.detail = f"{changed.certificate_subject}, until {changed.certificate_ends_at}"
    said = "The certificate is stored, encrypted, and used from now on."
    return context.redirect(f"/webhooks/{endpoint_id}/settings", said)


@action(_CERTIFICATE + "/remove", shown_on=certificate, confirmed=True, audit="endpoint.certificate_removed")
async def remove_certificate(context: PageContext, endpoint_id: str) -> PageResponse:
    context.entry.detail = (await reads.endpoint(context.workspace, endpoint_id)).certificate_subject or ""
    await certificates.remove(context.workspace, endpoint_id)
    return context.redirect(f"/webhooks/{endpoint_id}/settings", "The certificate is removed.")


@screen("/webhooks/{endpoint_id}/filter", "webhooks/filter.html", role="admin")
async def endpoint_filter(context: PageContext, endpoint_id: str) -> Values:
    """What of its events it is sent; with `tried`, what the filter in the form would have let through."""
    endpoint = await reads.endpoint(context.workspace, endpoint_id)
    form = context.form or context.query
    wanted = _filter(form) if form.on("tried") else endpoint.filter or Filter()
    result, why = None, ""
    if form.on("tried"):
        try:
            result = await preview.of(context.workspace, endpoint.events, _TRIED, wanted)
        except Invalid as refusal:
            why = refusal.detail
    names = await bots.names(context.workspace)
    return {"endpoint": endpoint, "wanted": wanted, "result": result, "why": why, "bots": names, "most": preview.MOST}


@action("/webhooks/{endpoint_id}/filter", shown_on=endpoint_filter, confirmed=True, audit="endpoint.changed")
async def save_filter(context: PageContext, endpoint_id: str) -> PageResponse:
    """Keep it; an empty one is none."""
    change, saw = EndpointChange(filter=_filter(context.form)), context.form.text("seen")
    context.entry.detail = "; ".join((await changes.configure(context.workspace, endpoint_id, change, saw)).changes)
    return context.redirect(f"/webhooks/{endpoint_id}/settings", "Saved. It holds for events from now on.")


def _filter(form: Form) -> Filter:
    """Fields between commas, conditions on lines."""
    lines = [line.strip() for line in form.text("conditions").splitlines()]
    fields = [name.strip() for name in form.text("changed").split(",")]
    return Filter(form.all("bots"), [name for name in fields if name], [line for line in lines if line])
