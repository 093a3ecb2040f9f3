"""`leadwire jobs` and `leadwire mail`: what is done in the background, what has failed and why, and trying it again."""

from typing import TYPE_CHECKING, Final, get_args

import click

from leadwire.domain.mail import schema
from leadwire.infrastructure.errors import NotFound
from leadwire.interfaces.cli.runtime import Result, command, lazily, listing

if TYPE_CHECKING:
    from leadwire.infrastructure.jobs.reads import State

with lazily():
    from leadwire.domain.mail import reads as mails

_STATES: Final = ("waiting", "running", "scheduled", "failed")

jobs = click.Group("jobs", help="Background work: what waits, what failed and why.")


@command(jobs, "list")
@click.option("--kind", metavar="KIND", help="Only jobs of this kind.")
@click.option("--state", type=click.Choice(_STATES), help="Only jobs in this state. failed: given up.")
@click.option("--limit", default=100, show_default=True, type=click.IntRange(1, 10_000))
async def list_jobs(kind: str | None, state: "State | None", limit: int) -> Result:
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


mail = click.Group("mail", help="Mails: what waits, what was given up.")


@command(mail, "list")
@click.option("--state", type=click.Choice(get_args(schema.State)), help="By default all.")
@click.option("--limit", default=100, show_default=True, type=click.IntRange(1, 10_000))
async def list_mails(state: schema.State | None, limit: int) -> Result:
    """List mails without their contents, newest first."""
    return listing(
        await mails.listed(state, limit),
        lambda message: (
            f"{message.id}  {message.state:7}  {message.kind}  {message.recipient}  {message.attempts} attempts"
            f"  {message.created_at}" + (f"  {message.error}" if message.error else "")
        ),
        "No such mails." if state else "No mails.",
    )


@command(mail)
@click.argument("mail_id", metavar="[ID]", required=False)
async def redrive(mail_id: str | None) -> Result:
    """Send mails again that were given up, with a new series of attempts: all, or one."""
    from leadwire.domain.mail.changes import attempts

    count = await attempts.redrive(mail_id)
    if mail_id and not count:
        raise NotFound(f"There is no mail {mail_id} that was given up.")
    return Result({"redriven": count}, f"{count} mail{'' if count == 1 else 's'} will be sent again.")
