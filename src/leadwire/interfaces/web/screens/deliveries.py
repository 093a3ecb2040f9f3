"""Deliveries: what was sent to whom, why it failed, what comes next; and the jobs that send dead letters again: counted
first, done at a chosen pace, stopped at any time.
"""

from contextlib import suppress
from typing import Final

from msgspec import structs

from leadwire.domain.webhooks import explain, history, reads, redrives
from leadwire.infrastructure import clock, ids, settings
from leadwire.infrastructure.errors import Invalid, NotFound
from leadwire.interfaces.http import requests
from leadwire.interfaces.web.forms import Form
from leadwire.interfaces.web.live_updates import stream
from leadwire.interfaces.web.routes import PageContext, PageResponse, Seen, Values, action, live, screen

_FILTERS: Final = ("endpoint_id", "stage", "kind", "outcome", "subject")
_STAGES: Final = {
    "": "All", "unfinished": "Under way", "delivered": "Delivered", "dead": "Dead letters", "cancelled": "Canceled"
}  # fmt: skip
_TIMES: Final = ("since", "until")
_NEW: Final = 99  # deliveries that are counted while a list is open


@screen("/deliveries", "webhooks/deliveries.html")
async def deliveries(context: PageContext) -> Values:
    """Newest first, with filters that are all in the address. With `upto`, an event, what came later is counted only:
    so an open list asks for itself again, and no row moves.
    """
    query, wanted = context.query, _filter(context.form or context.query)
    dead = wanted.stage == "dead"
    page = await history.page(context.workspace, wanted, query.text("after"))
    newest = wanted.upto or (page.rows[0].event_id if page.rows else ids.floor("evt", clock.now()))
    odd = wanted.subject and not any(ids.is_id(kind, wanted.subject) for kind in ("lead", "conv", "evt"))
    return {
        "page": page,
        "newest": "" if query.text("after") or odd or context.form else newest,
        "news": await _news(context.workspace, wanted) if wanted.upto else 0,
        "most": _NEW,
        "odd": odd,
        "kept": _kept(wanted, without="subject" if dead else ""),
        "onward": context.link(after=page.after, upto="") if page.after else None,
        "endpoints": await reads.endpoints(context.workspace),
        "outcomes": history.OUTCOMES,
        "stages": _STAGES,
        "total": await redrives.count(context.workspace, redrives.dead_letters(wanted)) if dead else 0,
        "jobs": await redrives.listed(context.workspace, 10) if dead else [],
    }


@screen("/deliveries/live")
async def deliveries_live(context: PageContext) -> PageResponse:
    """Tells when there is a newer delivery than `upto`, and when one of the list has gone on."""
    wanted = _filter(context.query)
    page = await history.page(context.workspace, wanted)
    unfinished = [row.event_id for row in page.rows if row.finished_at is None]

    async def look() -> Seen:
        states = await reads.states_of(context.workspace, unfinished) if unfinished else {}
        return (await _news(context.workspace, wanted), str(states)), False

    return stream(look, context.me)


@screen("/deliveries/{event_id}/{endpoint_id}", "webhooks/delivery.html")
async def delivery(context: PageContext, event_id: str, endpoint_id: str) -> Values:
    """One delivery: the POST as it was made, every hop and attempt, and why the next comes when it comes."""
    (delivery,) = await reads.deliveries_of(context.workspace, event_id, endpoint_id)
    context.note_read("delivery.read", delivery.event_id)
    endpoint = None
    sent: list[tuple[str, str]] = []
    with suppress(NotFound):  # the endpoint is gone, and its secret with it
        endpoint = await reads.endpoint(context.workspace, delivery.endpoint_id)
        sent = await explain.request_headers(context.workspace, delivery, endpoint.headers, signed=context.may("admin"))
    return {
        "d": delivery,
        "sent": sent,
        "curl": explain.curl(delivery, sent) if sent and delivery.body else "",
        "story": explain.timeline(delivery, endpoint),
        "paused_until": endpoint and endpoint.paused_until,
        "held": endpoint and (endpoint.held or not endpoint.enabled),
        "limit_ms": settings.get().delivery_timeout * 1000,
        "prefix": settings.get().header_prefix,
    }


@action("/deliveries/{event_id}/{endpoint_id}/redrive", role="agent", shown_on=delivery, audit="delivery.redriven")
async def redrive_one(context: PageContext, event_id: str, endpoint_id: str) -> str:
    """What has ended, delivered or not, is sent again: the same event, with the same id."""
    context.entry.detail = endpoint_id
    await redrives.start(context.workspace, redrives.Selection(event_id=event_id, endpoint_id=endpoint_id, replay=True))
    return "Returned to the queue."


@action("/deliveries/{event_id}/{endpoint_id}/retry", role="agent", shown_on=delivery, audit="delivery.retried")
async def retry_now(context: PageContext, event_id: str, endpoint_id: str) -> str:
    """The next retry is made now, not when it is due."""
    context.entry.detail = endpoint_id
    await redrives.retry_now(context.workspace, event_id, endpoint_id)
    return "The retry is on its way."


@live("/deliveries/{event_id}/{endpoint_id}/live")
async def delivery_live(context: PageContext, event_id: str, endpoint_id: str) -> Seen:
    """Tells when something happened to the delivery; a test that is still to be relayed is waited for."""
    for row in await reads.deliveries_of(context.workspace, event_id, endpoint_id, awaited=True):
        return (row.state, row.attempts, row.generation, len(row.history)), row.finished_at is not None
    return None, False


@action("/deliveries/redrive", role="agent", shown_on=deliveries, audit="redrive.started")
async def redrive(context: PageContext) -> PageResponse:
    """Send all that match again, in the background."""
    pace = context.form.number("per_second") or 100
    if context.form.text("sure") != "yes":
        raise Invalid("Tick the box: many requests are about to be made.")
    job = await redrives.start(context.workspace, redrives.dead_letters(_filter(context.form)), pace)
    context.entry.subject, context.entry.detail = job.id, f"{job.total} deliveries"
    return context.redirect(f"/redrives/{job.id}")


@screen("/redrives/{job_id}", "webhooks/redrive.html")
async def job(context: PageContext, job_id: str) -> Values:
    """How far a redrive has come. It goes on when this page is left."""
    return {"job": await redrives.one(context.workspace, job_id)}


@live("/redrives/{job_id}/live")
async def job_live(context: PageContext, job_id: str) -> Seen:
    now = await redrives.one(context.workspace, job_id)
    return (now.state, now.done), now.state in ("finished", "cancelled")


@action("/redrives/{job_id}/{step}", role="agent", shown_on=job, audit="redrive.changed")
async def change_job(context: PageContext, job_id: str, step: str) -> None:
    context.entry.action = f"redrive.{step}"
    await redrives.move(context.workspace, job_id, step)


async def _news(workspace: str, wanted: history.Filter) -> int:
    """How many deliveries that match are newer than `upto`, up to one more than `_NEW`."""
    newer = structs.replace(wanted, above=wanted.upto, upto="")
    return len((await history.page(workspace, newer, limit=_NEW + 1)).rows) if wanted.upto else 0


def _kept(wanted: history.Filter, without: str) -> dict[str, str]:
    """The filters as fields of a form show them; times to the minute, in UTC."""
    times = {name: getattr(wanted, name) for name in _TIMES}
    texts = {name: f"{moment:%Y-%m-%dT%H:%M}" if moment else "" for name, moment in times.items()}
    return {name: getattr(wanted, name) for name in _FILTERS if name != without} | texts


def _filter(query: Form) -> history.Filter:
    """The filter that an address or a form holds; times without a zone are in UTC. Raises InvalidParameter."""
    pairs = [(name, query.text(name)) for name in (*_FILTERS, *_TIMES, "upto")]
    wanted = requests.parse([(name, text) for name, text in pairs if text], history.Filter)
    return structs.replace(wanted, subject="", tests=False) if wanted.stage == "dead" else wanted
