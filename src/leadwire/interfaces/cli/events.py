"""`leadwire events`: everything that happened, in the order it was committed, for whoever missed deliveries."""

import asyncio
from typing import Final

import click

from leadwire.interfaces.cli.runtime import running, the_workspace, workspace_option

_LOOK: Final = 0.5  # seconds
_PAGE: Final = 500


@click.group()
def events() -> None:
    """What happened, in order and without gaps."""


@events.command()
@click.option("--after", default="", metavar="CURSOR", help="Go on after this one, or after this event id (evt_...).")
@click.option("--event", "kinds", multiple=True, metavar="KIND", help="Only events of this kind; repeat for more.")
@click.option("--limit", type=click.IntRange(min=1), help="Stop after so many; default: all there are.")
@click.option("--follow", is_flag=True, help="Wait for more.")
@click.option("--json", "as_json", is_flag=True, help="One JSON document a line: cursor, and the body webhooks carry.")
@workspace_option
@running
async def tail(
    after: str, kinds: tuple[str, ...], limit: int | None, follow: bool, as_json: bool, workspace: str | None
) -> None:
    """Print events, the oldest first. Keep the last cursor: the next call goes on after it."""
    from leadwire.delivery import events as stored

    owner = await the_workspace(workspace)
    printed = 0
    while limit is None or printed < limit:
        page = await stored.feed(owner, after, kinds, min(_PAGE, limit - printed) if limit else _PAGE)
        for one in page:
            click.echo(
                f'{{"cursor":"{one.cursor}","event_id":"{one.id}","body":{one.body}}}'
                if as_json
                else f"{one.cursor}  {one.occurred_at}  {one.kind}"
            )
        if page:
            after, printed = page[-1].cursor, printed + len(page)
        elif follow:
            await asyncio.sleep(_LOOK)
        else:
            return
