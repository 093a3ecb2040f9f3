"""Dead letters and the jobs that send them again: counted first, done at a chosen pace, stopped at any time."""

from collections.abc import Hashable
from typing import Any, Final

from litestar import Response
from msgspec import structs

from leadwire.domain.accounts.changes import audit
from leadwire.domain.webhooks import history, redrives
from leadwire.domain.webhooks.redrives import Selection
from leadwire.infrastructure.errors import Invalid
from leadwire.interfaces.web.live_updates import stream
from leadwire.interfaces.web.page_context import PageContext
from leadwire.interfaces.web.routes import action, screen
from leadwire.interfaces.web.screens.deliveries import choices, filter_of

_PACES: Final = {10: "10 a second", 100: "100 a second", 1000: "1,000 a second"}


@screen("/dead-letters")
async def dead_letters(context: PageContext) -> Response[str]:
    """What was given up on, how many a redrive would send, and the redrives so far."""
    form = context.form or context.query
    wanted = filter_of(form)
    dead = structs.replace(wanted, stage="dead", subject="", tests=False)
    return await context.render(
        "webhooks/dead_letters.html",
        page=await history.page(context.workspace, dead, context.query.text("after")),
        total=await redrives.count(context.workspace, _selection(wanted)),
        jobs=await redrives.listed(context.workspace, 10),
        kept={name: form.text(name) for name in ("endpoint_id", "kind", "outcome", "since", "until")},
        endpoints=await choices(context),
        outcomes={
            "": "Any outcome",
            **{name: name.replace("_", " ") for name in history.OUTCOMES if name != "delivered"},
        },
        paces=_PACES,
    )


@action("/dead-letters/redrive", role="agent", shown_on=dead_letters)
async def redrive(context: PageContext) -> Response[Any]:
    """Send all that match again, in the background."""
    pace = context.form.number("per_second") or 100
    if context.form.text("sure") != "yes":
        raise Invalid("Tick the box: many requests are about to be made.")
    async with audit.transaction(context.me, "redrive.started") as entry:
        job = await redrives.start(context.workspace, _selection(filter_of(context.form)), pace)
        entry.subject, entry.detail = job.id, f"{job.total} deliveries"
    return await context.redirect(f"/redrives/{job.id}")


@screen("/redrives/{job_id:str}")
async def job(context: PageContext) -> Response[str]:
    """How far a redrive has come. It goes on when this page is left."""
    return await context.render(
        "webhooks/redrive.html", job=await redrives.one(context.workspace, context.path_param("job_id"))
    )


@screen("/redrives/{job_id:str}/live")
async def live(context: PageContext) -> Response[Any]:
    """Tells how far it has come."""
    job_id = context.path_param("job_id")

    async def look() -> tuple[Hashable, bool]:
        now = await redrives.one(context.workspace, job_id)
        return (now.state, now.done), now.state in ("finished", "cancelled")

    await redrives.one(context.workspace, job_id)
    return stream(look, context.me.session_id)


@action("/redrives/{job_id:str}/{step:str}", role="agent", shown_on=job)
async def step(context: PageContext) -> Response[Any]:
    """Pause, resume or cancel."""
    steps = {"pause": redrives.pause, "resume": redrives.resume, "cancel": redrives.cancel}
    job_id, name = context.path_param("job_id"), context.path_param("step")
    if name not in steps:
        raise Invalid("A redrive can be paused, resumed or canceled.")
    async with audit.transaction(context.me, f"redrive.{name}", job_id):
        await steps[name](context.workspace, job_id)
    return await context.redirect(f"/redrives/{job_id}")


def _selection(wanted: history.Filter) -> Selection:
    return Selection(
        endpoint_id=wanted.endpoint_id or None,
        kinds=[wanted.kind] if wanted.kind else [],
        outcomes=[wanted.outcome] if wanted.outcome else [],
        since=wanted.since,
        until=wanted.until,
    )
