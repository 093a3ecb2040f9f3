"""`leadwire status`: the wire at a glance."""

import click

from leadwire import redis_pool, settings
from leadwire.cli.running import json_option, running, show


@click.command()
@json_option
@running
async def status(as_json: bool) -> None:
    """Show streams, lag, what is overdue, dead letters and workers."""
    from leadwire.wire import status as wire

    now = await wire.read(redis_pool.client(), settings.get().stream_shards)
    if as_json:
        show(now)
        return
    click.echo(f"unrelayed events   {now.unrelayed.events}   oldest {now.unrelayed.oldest_seconds:.1f} s")
    for state, count in now.deliveries.items():
        click.echo(f"{state:<18} {count}")
    click.echo(f"overdue            {now.overdue.deliveries}   oldest {now.overdue.oldest_seconds:.1f} s")
    click.echo(f"dead letters       {now.dead_letters}")
    if now.set_aside:
        click.echo(f"set aside          {now.set_aside}   every worker died of them: leadwire set-aside list")
    if now.streams is None:
        click.echo("streams            Redis cannot be reached; events wait in PostgreSQL")
    else:
        for stream in now.streams:
            click.echo(
                f"{stream.name}   length {stream.length}  lag {stream.lag}  pending {stream.pending}"
                f"  oldest {stream.oldest_seconds:.1f} s"
            )
        click.echo(f"workers            {len(now.workers or ())} alive")
