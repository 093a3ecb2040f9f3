"""`leadwire mail`: mails that wait or were given up, and sending those again."""

from typing import get_args

import click

from leadwire.domain.mail.schema import State
from leadwire.infrastructure.errors import NotFound
from leadwire.interfaces.cli.lazy import lazily
from leadwire.interfaces.cli.runtime import Result, command, listing

with lazily():
    from leadwire.domain.mail import reads

mail = click.Group("mail", help="Mails: what waits, what was given up.")


@command(mail, "list")
@click.option("--state", type=click.Choice(get_args(State)), help="By default all.")
@click.option("--limit", default=100, show_default=True, type=click.IntRange(1, 10_000))
async def list_(state: State | None, limit: int) -> Result:
    """List mails without their contents, newest first."""
    return listing(
        await reads.listed(state, limit),
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
