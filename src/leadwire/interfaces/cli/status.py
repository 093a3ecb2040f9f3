"""How `leadwire status` shows the state of delivery: as tables, with `--watch` again and again."""

import asyncio
from collections.abc import Awaitable, Callable
from typing import Final

import click
import msgspec
from rich import box
from rich.console import Console, Group, RenderableType
from rich.table import Table
from rich.text import Text

from leadwire.delivery.monitoring.status import Status
from leadwire.infrastructure.jobs.reads import UNATTENDED
from leadwire.interfaces.cli.runtime import explain

_LATE: Final = 30.0  # seconds; what waits longer past its time is shown in red
_WIDE: Final = 200  # columns, where there is no terminal that has fewer


async def follow(look: Callable[[], Awaitable[Status]], every: float, *, as_json: bool = False) -> None:
    """Show the state every `every` seconds until canceled. PostgreSQL may be away meanwhile."""
    while True:
        try:
            now = await look()
        except Exception as error:
            if (words := explain(error)) is None:
                raise
            click.secho(words, fg="red", err=True)
        else:
            if not as_json:
                click.clear()
            click.echo(msgspec.json.encode(now) if as_json else text(now))
        await asyncio.sleep(every)


def text(now: Status) -> str:
    """The tables, colored on a terminal."""
    console = Console()
    if not console.is_terminal:
        console.width = _WIDE
    with console.capture() as captured:
        console.print(_tables(now))
    return captured.get().rstrip()


def _tables(now: Status) -> RenderableType:
    counts = _table("Delivery", "", "count", "oldest", "")
    counts.add_row("unrelayed events", str(now.unrelayed.events), _age(now.unrelayed.oldest_seconds))
    for state, count in now.deliveries.items():
        counts.add_row(state, str(count))
    counts.add_row("overdue", _alarming(now.overdue.deliveries), _age(now.overdue.oldest_seconds))
    for endpoint in now.behind:
        about = f"  {endpoint.endpoint}, window {endpoint.window}"
        counts.add_row(about, str(endpoint.deliveries), _age(endpoint.oldest_seconds), endpoint.url)
    why = "their receivers asked for it (Retry-After), or their workspace is suspended"
    counts.add_row("paused endpoints", str(now.paused_endpoints), "", why if now.paused_endpoints else "")
    counts.add_row("dead letters", str(now.dead_letters))
    died = "no worker survives them, or no relay makes them: leadwire set-aside list" if now.set_aside else ""
    counts.add_row("set aside", _alarming(now.set_aside), "", died)
    jobs = _jobs(now)
    if now.streams is None:
        return Group(counts, *jobs, Text("Redis cannot be reached; events wait in PostgreSQL", "red"))
    streams = _table("Streams", "stream", "length", "lag", "pending", "oldest")
    for stream in now.streams:
        figures = (str(figure) for figure in (stream.length, stream.lag, stream.pending))
        streams.add_row(stream.name, *figures, _age(stream.oldest_seconds))
    alive = len(now.workers or ())
    silent = [
        Text(
            f"{worker.name} is silent for {worker.idle_seconds:.0f} s: frozen, cut off or killed; others take over",
            "red",
        )
        for worker in now.silent_workers or ()
    ]
    return Group(counts, streams, *jobs, Text(f"{alive} workers alive", "green" if alive else "red"), *silent)


def _jobs(now: Status) -> list[RenderableType]:
    """What is done in the background, and whether anybody does it."""
    table = _table("Background", "kind", "waiting", "oldest", "failing", "failed", "")
    busy = [job for job in now.jobs if job.waiting or job.failing or job.failed]
    for summary in busy:
        failed = (str(summary.failing or ""), _alarming(summary.failed))
        table.add_row(
            summary.kind,
            str(summary.waiting),
            _age(summary.oldest_seconds),
            *failed,
            summary.oldest if summary.waiting else "",
        )
    if now.background_seconds is None or now.background_seconds > UNATTENDED:
        return [table, Text("no background process runs: leadwire background", "red")]
    return [table if busy else Text("Background: nothing waits, and nothing has failed", "bold")]


def _table(title: str, *columns: str) -> Table:
    """A table whose columns are figures but for the first, and for one without a heading."""
    table = Table(title=title, title_justify="left", box=box.SIMPLE_HEAD)
    for number, heading in enumerate(columns):
        table.add_column(heading, justify="right" if number and heading else "left")
    return table


def _age(seconds: float) -> Text:
    return Text(f"{seconds:.1f} s" if seconds else "", "red" if seconds > _LATE else "")


def _alarming(count: int) -> Text:
    return Text(str(count), "red" if count else "")
