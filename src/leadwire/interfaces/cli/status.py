"""How `leadwire status` shows the state of delivery: tables; with `--watch`, off a terminal, a line for each update."""

import asyncio
import time
from collections.abc import Awaitable, Callable
from contextlib import nullcontext
from typing import Final

import click
import msgspec
from rich import box
from rich.console import Console, Group, RenderableType
from rich.live import Live
from rich.table import Table
from rich.text import Text

from leadwire.delivery.monitoring.status import Status
from leadwire.infrastructure.jobs.reads import UNATTENDED
from leadwire.interfaces.cli.runtime import explain

_LATE: Final = 30.0  # seconds; what waits longer past its time is shown in red
_WIDE: Final = 200  # columns, where there is no terminal that has fewer

Look = Callable[[], Awaitable[Status]]


async def follow(look: Look, every: float, *, as_json: bool = False, console: Console | None = None) -> None:
    """Show the state every `every` seconds until canceled. PostgreSQL may be away meanwhile."""
    screen = console or Console()
    pace = _Pace()
    live = Live(console=screen, auto_refresh=False) if screen.is_terminal and not as_json else None
    with live or nullcontext():
        while True:
            now = await _seen(look)
            if live:
                live.update(Text(now, "red") if isinstance(now, str) else _tables(now, pace), refresh=True)
            elif as_json and isinstance(now, Status):
                click.echo(msgspec.json.encode(now))
            else:
                click.echo(now if isinstance(now, str) else _line(now, pace), err=as_json)
            await asyncio.sleep(every)


class _Pace:
    """Deliveries a second, from one update to the next."""

    def __init__(self) -> None:
        self._count, self._at = 0, 0.0

    def of(self, count: int) -> str:
        """As text; empty at the first update."""
        before, since, self._count = self._count, self._at, count
        self._at = time.monotonic()
        return f"{max(count - before, 0) / (self._at - since):.0f}/s" if since else ""


async def _seen(look: Look) -> Status | str:
    try:
        return await look()
    except Exception as error:
        if (words := explain(error)) is None:
            raise
        return words


def _line(now: Status, pace: _Pace) -> str:
    delivered = now.deliveries["delivered"]
    lag = "redis away" if now.streams is None else sum(stream.lag for stream in now.streams)
    silent = len(now.silent_workers or ())
    pending = "" if now.streams is None else f" pending {sum(stream.pending for stream in now.streams)}"
    return (
        f"unrelayed {now.unrelayed.events} lag {lag}{pending} overdue {now.overdue.deliveries}"
        f" oldest {now.overdue.oldest_seconds:.1f}s delivered {delivered} {pace.of(delivered)}"
        f" dead {now.dead_letters} workers {len(now.workers or ())}" + f" silent {silent}" * bool(silent)
    )


def text(now: Status) -> str:
    """The tables, colored on a terminal."""
    console = Console()
    if not console.is_terminal:
        console.width = _WIDE
    with console.capture() as captured:
        console.print(_tables(now, _Pace()))
    return captured.get().rstrip()


def _tables(now: Status, pace: _Pace) -> RenderableType:
    counts = _table("Delivery", "", "count", "oldest", "")
    counts.add_row("unrelayed events", str(now.unrelayed.events), _age(now.unrelayed.oldest_seconds))
    for state, count in now.deliveries.items():
        counts.add_row(state, str(count), pace.of(count) if state == "delivered" else "")
    counts.add_row("overdue", _alarming(now.overdue.deliveries), _age(now.overdue.oldest_seconds))
    for one in now.behind:
        about = f"  {one.endpoint}, window {one.window}"
        counts.add_row(about, str(one.deliveries), _age(one.oldest_seconds), one.url)
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
        Text(f"{one.name} is silent for {one.idle_seconds:.0f} s: frozen, cut off or killed; others take over", "red")
        for one in now.silent_workers or ()
    ]
    return Group(counts, streams, *jobs, Text(f"{alive} workers alive", "green" if alive else "red"), *silent)


def _jobs(now: Status) -> list[RenderableType]:
    """What is done in the background, and whether anybody does it."""
    table = _table("Background", "kind", "waiting", "oldest", "failing", "failed", "")
    busy = [one for one in now.jobs if one.waiting or one.failing or one.failed]
    for one in busy:
        failed = (str(one.failing or ""), _alarming(one.failed))
        table.add_row(one.kind, str(one.waiting), _age(one.oldest_seconds), *failed, one.oldest if one.waiting else "")
    if now.background_seconds is None or now.background_seconds > UNATTENDED:
        return [table, Text("no background process runs: leadwire background", "red")]
    return [table if busy else Text("Background: nothing waits, and nothing has failed", "bold")]


def _table(title: str, *columns: str) -> Table:
    """A table whose columns are figures but for the first, and for one without a heading."""
    made = Table(title=title, title_justify="left", box=box.SIMPLE_HEAD)
    for number, heading in enumerate(columns):
        made.add_column(heading, justify="right" if number and heading else "left")
    return made


def _age(seconds: float) -> Text:
    return Text(f"{seconds:.1f} s" if seconds else "", "red" if seconds > _LATE else "")


def _alarming(count: int) -> Text:
    return Text(str(count), "red" if count else "")
