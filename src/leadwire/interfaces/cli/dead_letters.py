"""`leadwire dead-letters`: deliveries whose attempts have all failed, and sending them again."""

import click

from leadwire.interfaces.cli.runtime import json_option, print_json, running


@click.group("dead-letters")
def dead_letters() -> None:
    """Deliveries whose attempts have all failed."""


@dead_letters.command("list")
@click.option("--endpoint", metavar="ID")
@click.option("--event", metavar="ID")
@click.option("--limit", default=100, show_default=True, type=click.IntRange(1, 10_000))
@json_option
@running
async def list_(endpoint: str | None, event: str | None, limit: int, as_json: bool) -> None:
    """List dead letters, newest first."""
    from leadwire.domain.webhooks import reads

    found, total = await reads.dead_letters(None, endpoint, event, limit)
    if as_json:
        print_json({"total": total, "dead_letters": found})
        return
    for letter in found:
        click.echo(
            f"{letter.event_id}  {letter.event}  {letter.endpoint_id}  {letter.last_outcome} after {letter.attempts}"
            f" attempts  {letter.finished_at}"
        )
    click.echo(f"{total} dead letter{'' if total == 1 else 's'}")
    if total:
        click.echo("Send them again: leadwire redrives start")


@dead_letters.command("show")
@click.argument("event", metavar="EVENT_ID")
@click.option("--endpoint", metavar="ID")
@json_option
@running
async def show_(event: str, endpoint: str | None, as_json: bool) -> None:
    """Show the deliveries of one event: body, attempts, responses."""
    from leadwire.domain.webhooks import reads

    found = await reads.deliveries_of(None, event, endpoint)
    if as_json:
        print_json(found)
        return
    for delivery in found:
        click.echo(f"{delivery.event} to {delivery.endpoint_id} ({delivery.url or 'deleted'}): {delivery.state}")
        for one in delivery.history:
            answer = one.http_status or one.error or ""
            click.echo(f"  {one.started_at}  attempt {one.number}: {one.outcome} {answer} in {one.duration_ms} ms")
        click.echo(f"  {delivery.body or '(erased)'}")


@dead_letters.command()
@click.argument("event", metavar="EVENT_ID")
@click.option("--endpoint", metavar="ID", help="Only the delivery to this endpoint.")
@json_option
@running
async def redrive(event: str, endpoint: str | None, as_json: bool) -> None:
    """Send the dead letters of one event again, with a new series of attempts. For many: `leadwire redrives start`."""
    from leadwire.domain.webhooks import redrives

    count = await redrives.redrive_event(None, event, endpoint)
    if as_json:
        print_json({"redriven": count})
    else:
        click.echo(f"{count} dead letter{'' if count == 1 else 's'} sent again.")
