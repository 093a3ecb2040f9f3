"""`leadwire redrives`: jobs that send many deliveries again; they continue when the command has ended."""

import functools
import re
from datetime import datetime
from typing import Any

import click

from leadwire.infrastructure import clock
from leadwire.interfaces.cli.lazy import lazily
from leadwire.interfaces.cli.runtime import Result, audited, command, listing, the_workspace, workspace_option

with lazily():
    from leadwire.domain.webhooks import reads
    from leadwire.domain.webhooks import redrives as jobs


def _moment(_context: click.Context, _option: click.Parameter, text: str | None) -> datetime | None:
    try:
        return None if text is None else clock.parse(text)
    except ValueError as error:
        raise click.BadParameter(str(error)) from error


def _numbers(_context: click.Context, _option: click.Parameter, text: str | None) -> tuple[int, int] | None:
    if text is None:
        return None
    match = re.fullmatch(r"([0-9]{1,18})(?:-([0-9]{1,18}))?", text)
    if not match:
        raise click.BadParameter("a number such as 17, or a range such as 17-20")
    return int(match[1]), int(match[2] or match[1])


_time_option = functools.partial(click.option, metavar="TIME", callback=_moment)


redrives = click.Group("redrives", help="Jobs that send again: dead letters, a period, or what is named.")


@command(redrives)
@click.option("--endpoint", "endpoint_id", metavar="ID", help="Only deliveries to this endpoint.")
@click.option("--replay", is_flag=True, help="Send every event to one endpoint, not only dead letters.")
@click.option("--event-id", metavar="ID", help="Only this event.")
@click.option(
    "--sequence", "numbers", metavar="N[-M]", callback=_numbers,
    help="A replay of what was sent to a numbered endpoint with these numbers.",
)  # fmt: skip
@click.option("--event", "kinds", multiple=True, metavar="KIND", help="Only events of this kind. Repeatable.")
@click.option(
    "--outcome", "outcomes", multiple=True, help="Only dead letters with this outcome, such as timeout. Repeatable."
)
@_time_option("--since", help="Only events from this time on.")
@_time_option("--until", help="Only events before this time.")
@click.option("--rate", "per_second", default=100, show_default=True, type=int, help="Deliveries a second.")
@click.option("--dry-run", is_flag=True, help="Only count them.")
@workspace_option
async def start(per_second: int, dry_run: bool, workspace: str | None, **chosen: Any) -> Result:
    """Send matching deliveries again, with a new series of attempts. Without options, every dead letter."""
    selection = jobs.Selection(**chosen)
    if selection.endpoint_id and not workspace:
        workspace = (await reads.endpoint(None, selection.endpoint_id)).workspace_id
    owner = await the_workspace(workspace, create=False)
    if dry_run:
        count = await jobs.count(owner, selection)
        return Result({"would_redrive": count}, f"{count} would be sent again.")
    async with audited("redrive.started", workspace=owner) as entry:
        job = await jobs.start(owner, selection, per_second)
        entry.subject, entry.detail = job.id, f"{job.total} deliveries"
    return _told(job)


@command(redrives, "list")
async def list_() -> Result:
    """List jobs, newest first."""
    return listing(await jobs.listed(None), _line, "No redrives yet.")


def _add_step(name: str, description: str) -> None:
    """Add the command that takes one step with a job."""

    @click.argument("job_id", metavar="ID")
    async def step(job_id: str) -> Result:
        async with audited(f"redrive.{name}", job_id, (await jobs.one(None, job_id)).workspace_id):
            return _told(await jobs.move(None, job_id, name))

    step.__doc__ = description
    command(redrives, name)(step)


_add_step("pause", "Pause a job.")
_add_step("resume", "Resume a paused job.")
_add_step("cancel", "Cancel a job. Deliveries that it has already queued are sent.")


def _told(job: "jobs.Redrive") -> Result:
    return Result(job, _line(job))


def _line(job: "jobs.Redrive") -> str:
    what = f"replay to {job.endpoint_id}" if job.replay else f"dead letters of {job.endpoint_id or 'every endpoint'}"
    what += f" {job.event_id}" if job.event_id else ""
    what += f" numbers {job.first_number}-{job.last_number}" if job.first_number is not None else ""
    what += " by itself" if job.died_since else ""
    return f"{job.id}  {job.state}  {job.done} of {job.total}  {what}  {job.per_second}/s  {job.created_at}"
