"""`leadwire redrives`: jobs that send many deliveries again; they continue when the command has ended."""

import asyncio
import sys
from typing import TYPE_CHECKING, Any, Final

import click

from leadwire.interfaces.cli.runtime import (
    json_option,
    moment_option,
    print_json,
    print_list,
    report,
    running,
    the_workspace,
    workspace_option,
)

if TYPE_CHECKING:
    from leadwire.domain.webhooks.redrives import Redrive

_LOOK: Final = 0.5  # seconds
_STALLED: Final = 10  # looks without progress


@click.group()
def redrives() -> None:
    """Jobs that send dead letters, or all events of a period, again."""


@redrives.command()
@click.option("--endpoint", "endpoint_id", metavar="ID", help="Only deliveries to this endpoint.")
@click.option("--replay", is_flag=True, help="Send every event of the period to one endpoint, not only dead letters.")
@click.option("--event", "kinds", multiple=True, metavar="KIND", help="Only events of this kind. Repeatable.")
@click.option(
    "--outcome", "outcomes", multiple=True, help="Only dead letters with this outcome, such as timeout. Repeatable."
)
@moment_option("--since", help="Only events from this time on.")
@moment_option("--until", help="Only events before this time.")
@click.option("--rate", "per_second", default=100, show_default=True, type=int, help="Deliveries a second.")
@click.option("--dry-run", is_flag=True, help="Only count them.")
@click.option("--watch", is_flag=True, help="Wait until the job has finished. Ctrl-C leaves it running.")
@workspace_option
@json_option
@running
async def start(
    per_second: int, dry_run: bool, watch: bool, workspace: str | None, as_json: bool, **chosen: Any
) -> None:
    """Send matching deliveries again, with a new series of attempts. Without options, every dead letter."""
    from leadwire.domain.webhooks import redrives as jobs

    owner = await the_workspace(workspace)
    selection = jobs.Selection(**chosen)
    if dry_run:
        count = await jobs.count(owner, selection)
        print_json({"would_redrive": count}) if as_json else click.echo(f"{count} would be sent again.")
        return
    job = await jobs.start(owner, selection, per_second)
    if watch:
        job = await _finished(job)
    report(job, _line(job), as_json=as_json)


@redrives.command("list")
@json_option
@running
async def list_(as_json: bool) -> None:
    """List jobs, newest first."""
    from leadwire.domain.webhooks import redrives as jobs

    found = await jobs.listed(None)
    print_list(found, _line, "No redrives yet.", as_json=as_json)


@redrives.command()
@click.argument("job_id", metavar="ID")
@json_option
@running
async def watch(job_id: str, as_json: bool) -> None:
    """Follow a job until it has ended."""
    from leadwire.domain.webhooks import redrives as jobs

    job = await _finished(await jobs.one(None, job_id))
    report(job, _line(job), as_json=as_json)


@redrives.command()
@click.argument("job_id", metavar="ID")
@json_option
@running
async def pause(job_id: str, as_json: bool) -> None:
    """Pause a job."""
    from leadwire.domain.webhooks import redrives as jobs

    job = await jobs.move(None, job_id, "pause")
    report(job, _line(job), as_json=as_json)


@redrives.command()
@click.argument("job_id", metavar="ID")
@json_option
@running
async def resume(job_id: str, as_json: bool) -> None:
    """Resume a paused job."""
    from leadwire.domain.webhooks import redrives as jobs

    job = await jobs.move(None, job_id, "resume")
    report(job, _line(job), as_json=as_json)


@redrives.command()
@click.argument("job_id", metavar="ID")
@json_option
@running
async def cancel(job_id: str, as_json: bool) -> None:
    """Cancel a job. Deliveries that it has already queued are sent."""
    from leadwire.domain.webhooks import redrives as jobs

    job = await jobs.move(None, job_id, "cancel")
    report(job, _line(job), as_json=as_json)


async def _finished(job: "Redrive") -> "Redrive":
    """Return the job when it has ended; show progress on stderr meanwhile."""
    from leadwire.domain.webhooks import redrives as jobs

    with click.progressbar(length=max(job.total, 1), label=job.id, file=sys.stderr) as bar:
        shown = looks = 0
        while True:
            bar.update(min(job.done, job.total) - shown)
            shown, looks = min(job.done, job.total), looks + 1
            if job.state != "running":
                return job
            if looks == _STALLED and not shown:
                click.echo("\nNo progress. Is `leadwire relay` running?", err=True)
            await asyncio.sleep(_LOOK)
            job = await jobs.one(None, job.id)


def _line(job: "Redrive") -> str:
    what = f"replay to {job.endpoint_id}" if job.replay else f"dead letters of {job.endpoint_id or 'every endpoint'}"
    return f"{job.id}  {job.state}  {job.done} of {job.total}  {what}  {job.per_second}/s  {job.created_at}"
