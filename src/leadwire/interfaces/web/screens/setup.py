"""A new endpoint in five steps: address, events, secret, test, enable. Nothing is sent before the last. The
secret later on; and where deliveries come from, for whoever has a firewall: `receiver/published.py` is for programs.
"""

from collections.abc import Awaitable, Callable
from datetime import timedelta
from typing import Final

from leadwire.domain.accounts.audit import changes as audit
from leadwire.domain.webhooks import changes, preview, reads, rotation, samples, signing_keys
from leadwire.domain.webhooks.schema import DeliveryDetail, Endpoint
from leadwire.infrastructure import clock
from leadwire.infrastructure.errors import DomainError, NotFound
from leadwire.interfaces.web.public_pages import Visit, open_page
from leadwire.interfaces.web.routes import PageContext, PageResponse, Values, action, screen
from leadwire.interfaces.web.screens.endpoints import PERIODS, about

_SET_UP_WITHIN: Final = timedelta(hours=1)
_ROTATION: Final[dict[str, tuple[Callable[[str, str], Awaitable[object]], str, str]]] = {
    "stage": (rotation.stage, "endpoint.secret_staged", "The next secret signs beside the present one."),
    "promote": (rotation.promote, "endpoint.secret_promoted", "The old secret signs nothing any more."),
    "discard": (rotation.discard, "endpoint.secret_discarded", "The staged secret is forgotten."),
    "stage-key": (signing_keys.stage, "endpoint.key_staged", "The next key is published, and signs nothing yet."),
    "promote-key": (signing_keys.promote, "endpoint.key_promoted", "The next key signs from now on."),
    "discard-key": (signing_keys.discard, "endpoint.keys_discarded", "Only the key that signs is published."),
}


@screen("/webhooks/new", "webhooks/new.html", role="admin")
async def address(context: PageContext) -> PageResponse | Values:
    """Step 1: an address, or the name of a receiver that fetches. `url` is checked while it is typed."""
    name = context.query.text("name")
    url, fault = f"{changes.PULL}{name}" if name else context.query.text("url"), ""
    if url:
        try:
            url = changes.checked_url(url)
        except DomainError as refusal:
            fault = refusal.detail
    if url and not fault and context.query.on("next"):
        return await _choose(context, url)
    return {"url": url, "name": name, "fault": fault}


@screen("/webhooks/new/events", role="admin")
async def events(context: PageContext) -> PageResponse:
    """Step 2, shown again with what was wrong."""
    return await _choose(context, context.form.text("url") or context.query.text("url"))


@action("/webhooks/new/events", shown_on=events, confirmed=True, audit="endpoint.created")
async def create(context: PageContext) -> PageResponse:
    """The endpoint, disabled."""
    endpoint = await changes.create(context.workspace, context.form.text("url"), context.form.all("event"))
    context.entry.subject = endpoint.id
    context.entry.detail = f"url: {endpoint.url}; events: {' '.join(endpoint.events)}"
    return context.redirect(f"/webhooks/{endpoint.id}/setup/secret")


@screen("/webhooks/{endpoint_id}/setup/secret", role="admin", confirmed=True)
async def copy_secret(context: PageContext, endpoint_id: str) -> PageResponse:
    """Step 3: the secret, and how a receiver checks with it."""
    endpoint = await reads.endpoint(context.workspace, endpoint_id)
    created = clock.parse(endpoint.created_at)
    if endpoint.enabled or endpoint.disabled_reason or created < clock.now() - _SET_UP_WITHIN:
        return context.redirect(f"/webhooks/{endpoint.id}/secret")
    return await reveal(context, endpoint, setup=True)


@screen("/webhooks/{endpoint_id}/setup/test", "webhooks/test.html", role="admin")
async def test(context: PageContext, endpoint_id: str) -> Values:
    """Step 4: a sample event, sent as every event is, and what the receiver answered."""
    endpoint = await reads.endpoint(context.workspace, endpoint_id)
    return {"endpoint": endpoint, "tested": await about(context, endpoint_id, context.query.text("test"))}


@screen("/webhooks/{endpoint_id}/setup/enable", "webhooks/enable.html", role="admin")
async def enable(context: PageContext, endpoint_id: str) -> Values:
    """Step 5. With a test in the address that was delivered, step 4 counts as done."""
    endpoint = await reads.endpoint(context.workspace, endpoint_id)
    sent = await about(context, endpoint_id, context.query.text("test"))
    works = isinstance(sent, DeliveryDetail) and sent.state == "delivered"
    hours = chosen if (chosen := context.query.text("hours")) in PERIODS else "24"
    result = await preview.of(context.workspace, endpoint.events, int(hours), endpoint.filter)
    if result.examples:
        context.note_read("delivery.read", endpoint.id)
    return {
        "endpoint": endpoint,
        "works": works,
        "hours": hours,
        "periods": PERIODS,
        "preview": result,
        "most": preview.MOST,
    }


@screen("/webhooks/{endpoint_id}/secret", role="admin", confirmed=True)
async def secret(context: PageContext, endpoint_id: str) -> PageResponse:
    """The secret, the staged one, and what to do with them."""
    return await reveal(context, await reads.endpoint(context.workspace, endpoint_id))


async def reveal(context: PageContext, endpoint: Endpoint, *, setup: bool = False) -> PageResponse:
    """A page with the endpoint's secrets, and how a receiver checks with them. That they were looked at is noted."""
    async with audit.transaction(context.me, "endpoint.secret_seen", endpoint.id):
        present, staged = await rotation.reveal(context.workspace, endpoint.id)
    values: Values = {"secret": present, "staged": staged, "code": samples, "setup": setup}
    return await context.render("webhooks/secret.html", endpoint=endpoint, **values)


@action("/webhooks/{endpoint_id}/secret/{step}", shown_on=secret, confirmed=True, audit="endpoint.rotated")
async def rotate(context: PageContext, endpoint_id: str, step: str) -> str:
    if step not in _ROTATION:
        raise NotFound("There is nothing here.")
    run, context.entry.action, word = _ROTATION[step]
    await run(context.workspace, endpoint_id)
    return word


@open_page("/webhooks/addresses")
async def addresses(visit: Visit) -> PageResponse:
    return visit.render("public/addresses.html", addresses=reads.egress_addresses())


async def _choose(context: PageContext, url: str) -> PageResponse:
    usual = [kind for kind in samples.SAMPLES if kind != "lead.deleted"]  # which nobody gets who has not named it
    chosen = context.form.all("event") if context.form else usual
    counts = await preview.counts(context.workspace, list(samples.bodies()), 24 * 7)
    return await context.render(
        "webhooks/events.html", url=url, chosen=chosen, samples=samples.bodies(), counts=counts, most=preview.FEW
    )
