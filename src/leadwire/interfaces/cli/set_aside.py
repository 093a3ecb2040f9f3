"""`leadwire set-aside`: deliveries that crashed every worker that tried them."""

import click

from leadwire.interfaces.cli.runtime import json_option, print_json, running


@click.group("set-aside")
def set_aside() -> None:
    """Deliveries that crashed every worker that tried them."""


@set_aside.command("list")
@json_option
@running
async def list_(as_json: bool) -> None:
    """List them, oldest first."""
    from leadwire.delivery.worker import quarantine

    found = await quarantine.listed()
    if as_json:
        print_json([{"event_id": event, "endpoint_id": endpoint, "event": kind} for event, endpoint, kind in found])
        return
    for event, endpoint, kind in found:
        click.echo(f"{event}  {kind}  {endpoint}")
    click.echo(f"{len(found)} set aside")


@set_aside.command()
@click.option("--event", metavar="ID", help="Only the deliveries of this event; by default all.")
@json_option
@running
async def release(event: str | None, as_json: bool) -> None:
    """Try them again."""
    from leadwire.delivery import push
    from leadwire.delivery.worker import quarantine

    count = await quarantine.release(event)
    push.wake_relay()
    print_json({"released": count}) if as_json else click.echo(f"{count} released.")
