"""Webhook endpoints: how they do, what they are told, and how they are kept."""

from collections.abc import Awaitable, Callable, Hashable
from typing import Any, Final

from litestar import Response

from leadwire.domain.accounts.changes import audit
from leadwire.domain.webhooks import changes, history, reads, stats
from leadwire.domain.webhooks.schema import REMOVED, EndpointChange
from leadwire.infrastructure.errors import FieldError, Invalid
from leadwire.interfaces.web.charts import Series
from leadwire.interfaces.web.forms import Form
from leadwire.interfaces.web.live_updates import stream
from leadwire.interfaces.web.page_context import PageContext
from leadwire.interfaces.web.routes import action, screen

_PERIODS: Final = {"24": "24 hours", "168": "7 days"}


@screen("/webhooks")
async def endpoints(context: PageContext) -> Response[str]:
    """Every endpoint with its last day; without one, how to get there."""
    found = await reads.endpoints(context.workspace)
    known = await stats.of(context.workspace, [endpoint.id for endpoint in found])
    return await context.render("webhooks/list.html", endpoints=found, figures=known)


@screen("/webhooks/{endpoint_id:str}")
async def endpoint(context: PageContext) -> Response[str]:
    """One endpoint: plots, its deliveries, its settings, a test."""
    shown = await reads.endpoint(context.workspace, context.path_param("endpoint_id"))
    period = chosen if (chosen := context.query.text("period")) in _PERIODS else "24"
    known = (await stats.of(context.workspace, [shown.id], int(period)))[shown.id]
    labels = [f"{hour.at:%d %b %H:00}" if period == "168" else f"{hour.at:%H:00}" for hour in known.hours]
    stage = context.query.text("stage")
    return await context.render(
        "webhooks/endpoint.html",
        endpoint=shown,
        known=known,
        labels=labels,
        period=period,
        periods=_PERIODS,
        outcomes=[
            Series("Delivered", [hour.delivered for hour in known.hours], "good"),
            Series("Failed", [hour.failed for hour in known.hours], "bad"),
        ],
        times=[Series("95 % answered within", [hour.p95 or 0 for hour in known.hours])],
        stage=stage,
        page=await history.page(context.workspace, history.Filter(endpoint_id=shown.id, stage=stage), limit=20),
        tested=await tested(context),
    )


@screen("/webhooks/{endpoint_id:str}/live")
async def live(context: PageContext) -> Response[Any]:
    """Tells when an attempt was made."""
    shown = await reads.endpoint(context.workspace, context.path_param("endpoint_id"))

    async def look() -> tuple[Hashable, bool]:
        return await stats.attempts(shown.id), False

    return stream(look, context.me.session_id)


@action("/webhooks/{endpoint_id:str}/settings", shown_on=endpoint, confirmed=True)
async def configure(context: PageContext) -> Response[Any]:
    """URL, events, order and rate. A URL of another origin loses the custom headers."""
    change = EndpointChange(
        url=context.form.text("url"),
        events=context.form.all("event"),
        ordered=context.form.on("ordered"),
        numbered=context.form.on("numbered"),
        rate_limit=context.form.number("rate_limit"),
    )
    endpoint_id = context.path_param("endpoint_id")
    async with audit.transaction(context.me, "endpoint.changed", endpoint_id) as entry:
        changed = await changes.configure(context.workspace, endpoint_id, change)
        entry.detail = "; ".join(changed.changes)
    removed = f" {REMOVED}: {', '.join(changed.removed_headers)}." if changed.removed_headers else ""
    return await context.redirect(f"/webhooks/{endpoint_id}", f"Saved. It holds from the next attempt on.{removed}")


@action("/webhooks/{endpoint_id:str}/headers", shown_on=endpoint)
async def own_headers(context: PageContext) -> Response[Any]:
    """The endpoint's own headers, all at once: what is stored is not shown again."""
    endpoint_id, given = context.path_param("endpoint_id"), _headers(context.form)
    async with audit.transaction(context.me, "endpoint.headers_changed", endpoint_id) as entry:
        changed = await changes.configure(context.workspace, endpoint_id, EndpointChange(headers=given))
        entry.detail = "; ".join(changed.changes)
    return await context.redirect(f"/webhooks/{endpoint_id}", "The headers are stored, encrypted.")


@action("/webhooks/{endpoint_id:str}/enable", shown_on=endpoint)
async def enable(context: PageContext) -> Response[Any]:
    """Let events flow."""
    page = await change(context, "endpoint.enabled", changes.enable)
    return await context.redirect(page, "Enabled. Events flow from now on.")


@action("/webhooks/{endpoint_id:str}/disable", shown_on=endpoint)
async def disable(context: PageContext) -> Response[Any]:
    """Stop sending."""
    await change(context, "endpoint.disabled", changes.disable)
    return await context.redirect(
        f"/webhooks/{context.path_param('endpoint_id')}", "Disabled. What waits keeps waiting."
    )


@action("/webhooks/{endpoint_id:str}/delete", shown_on=endpoint)
async def delete(context: PageContext) -> Response[Any]:
    """Remove it; what it was still owed is canceled."""
    endpoint_id = context.path_param("endpoint_id")
    shown = await reads.endpoint(context.workspace, endpoint_id)
    async with audit.transaction(context.me, "endpoint.deleted", endpoint_id, shown.url):
        await changes.delete(context.workspace, endpoint_id)
    return await context.redirect("/webhooks", f"{shown.url} is removed.")


@action("/webhooks/{endpoint_id:str}/discard", shown_on=endpoint)
async def discard(context: PageContext) -> Response[Any]:
    """Cancel what waits for it."""
    endpoint_id = context.path_param("endpoint_id")
    async with audit.transaction(context.me, "endpoint.discarded", endpoint_id) as entry:
        count = await changes.discard(context.workspace, endpoint_id)
        entry.detail = f"waiting: {count} -> 0"
    return await context.redirect(f"/webhooks/{endpoint_id}", f"{count} waiting deliveries are being canceled.")


@action("/webhooks/{endpoint_id:str}/test", shown_on=endpoint)
async def test(context: PageContext) -> Response[Any]:
    """A sample event over the real path; works while disabled."""
    endpoint_id, onward = context.path_param("endpoint_id"), context.form.text("on") == "setup"
    async with audit.transaction(context.me, "endpoint.tested", endpoint_id) as entry:
        entry.detail = await changes.send_test(context.workspace, endpoint_id, context.form.text("kind") or None)
    page = f"/webhooks/{endpoint_id}/setup/test" if onward else f"/webhooks/{endpoint_id}"
    return await context.redirect(f"{page}?test={entry.detail}#test")


async def change(context: PageContext, entry: str, run: Callable[[str, str], Awaitable[object]]) -> str:
    """Change the endpoint of the path, with an entry in the audit log. Return the endpoint's page."""
    endpoint_id = context.path_param("endpoint_id")
    async with audit.transaction(context.me, entry, endpoint_id):
        await run(context.workspace, endpoint_id)
    return f"/webhooks/{endpoint_id}"


async def tested(context: PageContext) -> object:
    """The test that the address names, as far as it has come."""
    if not (event_id := context.query.text("test")):
        return None
    found = await reads.deliveries_of(context.workspace, event_id, context.path_param("endpoint_id"), awaited=True)
    return found[0] if found else event_id


def _headers(form: Form) -> dict[str, str]:
    """Lines of `Name: value`. Raises Invalid."""
    given: dict[str, str] = {}
    for number, line in enumerate(filter(None, map(str.strip, form.text("headers").splitlines())), 1):
        name, colon, value = line.partition(":")
        if not colon or not name.strip():
            message = f"Line {number} is not `Name: value`."
            raise Invalid(message, errors=(FieldError("malformed", message, "/headers"),))
        given[name.strip()] = value.strip()
    return given
