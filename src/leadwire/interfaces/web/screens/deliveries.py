"""Deliveries: what was sent to whom, why it failed, what comes next, and sending it again."""

from collections.abc import Hashable
from datetime import datetime
from typing import Any, Final

from litestar import Response

from leadwire.domain.accounts.changes import audit
from leadwire.domain.webhooks import explain, history, reads, redrives
from leadwire.infrastructure import clock, ids, settings
from leadwire.infrastructure.errors import InvalidParameter, NotFound
from leadwire.interfaces.web.forms import Form
from leadwire.interfaces.web.live_updates import stream
from leadwire.interfaces.web.page_context import PageContext
from leadwire.interfaces.web.routes import action, screen

_STAGES: Final = {
    "": "Any state",
    "delivered": "Delivered",
    "unfinished": "Under way",
    "dead": "Dead letters",
    "cancelled": "Canceled",
}


@screen("/deliveries")
async def deliveries(context: PageContext) -> Response[str]:
    """Newest first, with filters that are all in the address."""
    wanted, query = filter_of(context.query), context.query
    page = await history.page(context.workspace, wanted, query.text("after"))
    kept = {name: query.text(name) for name in ("endpoint_id", "stage", "kind", "outcome", "subject", "since", "until")}
    return await context.render(
        "webhooks/deliveries.html",
        page=page,
        kept=kept,
        onward=context.link(after=page.after) if page.after else None,
        endpoints=await choices(context),
        stages=_STAGES,
        outcomes={"": "Any outcome", **{name: name.replace("_", " ") for name in history.OUTCOMES}},
    )


@screen("/deliveries/{event_id:str}/{endpoint_id:str}")
async def delivery(context: PageContext) -> Response[str]:
    """One delivery: the POST as it was made, every hop and attempt, and why the next comes when it comes."""
    shown = await _one(context)
    endpoint = None
    sent: list[tuple[str, str]] = []
    try:
        endpoint = await reads.endpoint(context.workspace, shown.endpoint_id)
        sent = await explain.request_headers(context.workspace, shown, endpoint.headers, signed=context.may("admin"))
    except NotFound:
        pass  # the endpoint is gone, and its secret with it
    paused_until = endpoint.paused_until if endpoint else None
    return await context.render(
        "webhooks/delivery.html",
        d=shown,
        sent=sent,
        curl=explain.curl(shown, sent) if sent and shown.body else "",
        story=explain.timeline(shown, settings.get().retry_schedule, paused=bool(paused_until)),
        paused_until=paused_until,
        limit_ms=settings.get().delivery_timeout * 1000,
        prefix=settings.get().header_prefix,
    )


@action("/deliveries/{event_id:str}/{endpoint_id:str}/redrive", role="agent", shown_on=delivery)
async def redrive(context: PageContext) -> Response[Any]:
    """A dead letter is sent again, as if for the first time."""
    event_id, endpoint_id = context.path_param("event_id"), context.path_param("endpoint_id")
    async with audit.transaction(context.me, "delivery.redriven", event_id, endpoint_id):
        sent = await redrives.redrive_event(context.workspace, event_id, endpoint_id)
    word = "On its way again." if sent else "It is no dead letter: there is nothing to send again."
    return await context.redirect(f"/deliveries/{event_id}/{endpoint_id}", word)


@screen("/deliveries/{event_id:str}/{endpoint_id:str}/live")
async def live(context: PageContext) -> Response[Any]:
    """Tells when something happened to the delivery; one that is still to be relayed is waited for."""
    event_id, endpoint_id = context.path_param("event_id"), context.path_param("endpoint_id")
    if not ids.is_id("evt", event_id):
        raise NotFound(f"There is no delivery of {event_id}.")

    async def look() -> tuple[Hashable, bool]:
        found = await reads.deliveries_of(context.workspace, event_id, endpoint_id, awaited=True)
        if not found:
            return None, False
        shown = found[0]
        return (shown.state, shown.attempts, shown.generation, len(shown.history)), shown.state not in (
            "waiting",
            "queued",
        )

    return stream(look, context.me.session_id)


async def _one(context: PageContext) -> Any:
    (found,) = await reads.deliveries_of(
        context.workspace, context.path_param("event_id"), context.path_param("endpoint_id")
    )
    return found


async def choices(context: PageContext) -> dict[str, str]:
    """Every endpoint, to choose one from."""
    found = await reads.endpoints(context.workspace)
    return {"": "Any endpoint", **{endpoint.id: endpoint.url.partition("://")[2] for endpoint in found}}


def filter_of(query: Form) -> history.Filter:
    """The filter that an address or a form holds. Raises InvalidParameter."""
    return history.Filter(
        endpoint_id=query.text("endpoint_id"),
        stage=query.text("stage"),
        kind=query.text("kind"),
        outcome=query.text("outcome"),
        subject=query.text("subject"),
        since=_moment(query, "since"),
        until=_moment(query, "until"),
    )


def _moment(query: Form, name: str) -> datetime | None:
    """A time, as `<input type="datetime-local">` sends it (then in UTC) or with a zone. Raises InvalidParameter."""
    if not (text := query.text(name)):
        return None
    try:
        return clock.parse(text)
    except ValueError as error:
        raise InvalidParameter(f"`{name}` is not a time, such as 2026-01-31T12:00.") from error
