"""`leadwire events`: all events in the order of their commits, for those who missed deliveries."""

import asyncio
from typing import Final

import click

from leadwire.interfaces.cli.runtime import running, the_workspace, workspace_option

_LOOK: Final = 0.5  # seconds
_PAGE: Final = 500


events = click.Group("events", help="Events, in order and without gaps.")


@events.command()
@click.option(
    "--after", default="", metavar="CURSOR", help="Continue after this event (evt_...), or from this ISO 8601 time on."
)
@click.option("--event", "kinds", multiple=True, metavar="KIND", help="Only events of this kind. Repeatable.")
@click.option("--limit", type=click.IntRange(min=1), help="Stop after this many; by default all.")
@click.option("--follow", is_flag=True, help="Wait for more events.")
@click.option(
    "--json", "as_json", is_flag=True, help="Print a JSON document a line: the cursor and the body that webhooks carry."
)
@workspace_option
@running
async def tail(
    after: str, kinds: tuple[str, ...], limit: int | None, follow: bool, as_json: bool, workspace: str | None
) -> None:
    """Print events, oldest first. Keep the id of the last one to continue after it."""
    from leadwire.delivery.feed import events as stored
    from leadwire.infrastructure import clock

    owner = await the_workspace(workspace)
    printed = 0
    while limit is None or printed < limit:
        page = await stored.feed(owner, after, kinds, min(_PAGE, limit - printed) if limit else _PAGE)
        for one in page.events:
            click.echo(
                f'{{"cursor":"{one.id}","event_id":"{one.id}","body":{one.body}}}'
                if as_json
                else f"{one.id}  {one.occurred_at}  {one.kind}"
            )
        if page.events:
            after, printed = page.events[-1].id, printed + len(page.events)
        elif follow:
            await asyncio.sleep(_LOOK)
        else:
            if page.held_back_since:
                since = clock.iso(page.held_back_since)
                click.echo(f"Events since {since} are held back: an earlier one is not committed yet.", err=True)
            return
