"""Dead letters and the jobs that send them again: counted first, done at a chosen pace, stopped at any time."""

from collections.abc import Hashable
from typing import Any, Final

from litestar import Response
from msgspec import structs

from leadwire.domain.accounts import audit
from leadwire.domain.webhooks import history, redrives
from leadwire.domain.webhooks.redrives import Selection
from leadwire.infrastructure.errors import Invalid
from leadwire.interfaces.web.live_updates import stream
from leadwire.interfaces.web.page_context import Visit
from leadwire.interfaces.web.routes import action, screen
from leadwire.interfaces.web.screens.deliveries import choices, wished

_PACES: Final = {10: "10 a second", 100: "100 a second", 1000: "1,000 a second"}


@screen("/dead-letters")
async def dead_letters(visit: Visit) -> Response[str]:
    """What was given up on, how many a redrive would send, and the redrives so far."""
    form = visit.form or visit.query
    wanted = wished(form)
    dead = structs.replace(wanted, stage="dead", subject="", tests=False)
    return await visit.page(
        "webhooks/dead_letters.html",
        page=await history.page(visit.workspace, dead, visit.query.text("after")),
        total=await redrives.count(visit.workspace, _selection(wanted)),
        jobs=await redrives.listed(visit.workspace, 10),
        kept={name: form.text(name) for name in ("endpoint_id", "kind", "outcome", "since", "until")},
        endpoints=await choices(visit),
        outcomes={
            "": "Any outcome",
            **{name: name.replace("_", " ") for name in history.OUTCOMES if name != "delivered"},
        },
        paces=_PACES,
    )


@action("/dead-letters/redrive", role="agent", shown_on=dead_letters)
async def redrive(visit: Visit) -> Response[Any]:
    """Send all that match again, in the background."""
    pace = visit.form.number("per_second") or 100
    if visit.form.text("sure") != "yes":
        raise Invalid("Tick the box: many requests are about to be made.")
    async with audit.act(visit.me, "redrive.started") as entry:
        job = await redrives.start(visit.workspace, _selection(wished(visit.form)), pace)
        entry.subject, entry.detail = job.id, f"{job.total} deliveries"
    return await visit.back(f"/redrives/{job.id}")


@screen("/redrives/{job_id:str}")
async def job(visit: Visit) -> Response[str]:
    """How far a redrive has come. It goes on when this page is left."""
    return await visit.page("webhooks/redrive.html", job=await redrives.one(visit.workspace, visit.part("job_id")))


@screen("/redrives/{job_id:str}/live")
async def live(visit: Visit) -> Response[Any]:
    """Tells how far it has come."""
    job_id = visit.part("job_id")

    async def look() -> tuple[Hashable, bool]:
        now = await redrives.one(visit.workspace, job_id)
        return (now.state, now.done), now.state in ("finished", "cancelled")

    await redrives.one(visit.workspace, job_id)
    return stream(look, visit.me.session_id)


@action("/redrives/{job_id:str}/{step:str}", role="agent", shown_on=job)
async def step(visit: Visit) -> Response[Any]:
    """Pause, resume or cancel."""
    steps = {"pause": redrives.pause, "resume": redrives.resume, "cancel": redrives.cancel}
    job_id, name = visit.part("job_id"), visit.part("step")
    if name not in steps:
        raise Invalid("A redrive can be paused, resumed or cancelled.")
    async with audit.act(visit.me, f"redrive.{name}", job_id):
        await steps[name](visit.workspace, job_id)
    return await visit.back(f"/redrives/{job_id}")


def _selection(wanted: history.Filter) -> Selection:
    return Selection(
        endpoint_id=wanted.endpoint_id or None,
        kinds=[wanted.kind] if wanted.kind else [],
        outcomes=[wanted.outcome] if wanted.outcome else [],
        since=wanted.since,
        until=wanted.until,
    )
