"""`leadwire jobs`: what is done in the background, what is late or has failed and why, and trying it again."""

from typing import TYPE_CHECKING, Final

import click

from leadwire.infrastructure.errors import NotFound
from leadwire.interfaces.cli.runtime import Result, command, listing

if TYPE_CHECKING:
    from leadwire.infrastructure.jobs.reads import State

_STATES: Final = ("waiting", "running", "scheduled", "failed")

jobs = click.Group("jobs", help="Background work: what waits, what failed and why.")


@command(jobs, "list")
@click.option("--kind", metavar="KIND", help="Only jobs of this kind.")
@click.option("--state", type=click.Choice(_STATES), help="Only jobs in this state. failed: given up.")
@click.option("--limit", default=100, show_default=True, type=click.IntRange(1, 10_000))
async def list_(kind: str | None, state: "State | None", limit: int) -> Result:
    """List jobs, those first that have waited longest. Without a key: the kind has one job, which comes again."""
    from leadwire.infrastructure.jobs import reads

    return listing(
        await reads.listed(kind, state, limit),
        lambda job: (
            f"{job.kind}  {job.key or '-'}  {job.workspace or '-'}  {job.state}  since {job.since:%Y-%m-%d %H:%M:%S}"
            + (f"  {job.tries} tries  {job.error}" if job.error else "")
        ),
        "No such jobs.",
    )


@command(jobs)
@click.argument("key", required=False)
@click.option("--kind", metavar="KIND", help="Only jobs of this kind.")
async def retry(key: str | None, kind: str | None) -> Result:
    """Try jobs that have failed again now: all, those of a kind, or one."""
    from leadwire.infrastructure.jobs import reads

    count = await reads.retry(kind, key)
    if key and not count:
        raise NotFound(f"There is no job {key} that has failed.")
    return Result({"retried": count}, f"{count} job{'' if count == 1 else 's'} will be tried again.")
