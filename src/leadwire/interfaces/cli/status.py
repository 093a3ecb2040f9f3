"""`leadwire status`: the state of delivery, once or continuously."""

import functools
from typing import TYPE_CHECKING

import click

from leadwire.interfaces.cli.runtime import json_option, print_json, running

if TYPE_CHECKING:
    from leadwire.delivery.monitoring.status import Status


@click.command()
@click.option("--watch", is_flag=True, help="Repeat until Ctrl-C.")
@click.option(
    "--every", default=2.0, show_default=True, type=click.FloatRange(0.1, 3600), help="Seconds between updates."
)
@json_option
@running
async def status(watch: bool, every: float, as_json: bool) -> None:
    """Show streams, lag, overdue deliveries, dead letters and workers."""
    from leadwire.domain.webhooks import system
    from leadwire.interfaces.cli import status_live

    look = functools.partial(system.now, finished=True)
    if watch:
        await status_live.follow(look, every, as_json=as_json)
    elif as_json:
        print_json(await look())
    else:
        for line in _lines(await look()):
            click.echo(line)


def _lines(now: "Status") -> list[str]:
    found = [
        f"unrelayed events   {now.unrelayed.events}   oldest {now.unrelayed.oldest_seconds:.1f} s",
        *(f"{state:<18} {count}" for state, count in now.deliveries.items()),
        f"overdue            {now.overdue.deliveries}   oldest {now.overdue.oldest_seconds:.1f} s",
        *(
            f"  {one.deliveries:<16} {one.endpoint}   oldest {one.oldest_seconds:.1f} s  window {one.window}  {one.url}"
            for one in now.behind
        ),
        f"dead letters       {now.dead_letters}",
    ]
    if now.paused_endpoints:
        found.append(
            f"paused             {now.paused_endpoints}   endpoints whose receivers asked for it (Retry-After)"
        )
    if now.set_aside:
        found.append(f"set aside          {now.set_aside}   every worker died of them: leadwire set-aside list")
    if now.streams is None:
        found.append("streams            Redis cannot be reached; events wait in PostgreSQL")
        return found
    found += [
        f"{stream.name}   length {stream.length}  lag {stream.lag}  pending {stream.pending}"
        f"  oldest {stream.oldest_seconds:.1f} s"
        for stream in now.streams
    ]
    found.append(f"workers            {len(now.workers or ())} alive")
    return found
