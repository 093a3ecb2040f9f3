"""How `leadwire status` shows the state of delivery: as tables, with what is wrong in red."""

from collections.abc import Iterable, Sequence
from typing import Final

import click

from leadwire.delivery.monitoring.status import Status
from leadwire.infrastructure.jobs.reads import UNATTENDED

_LATE: Final = 30.0  # seconds; what waits longer past its time is shown in red
_BELOW: Final = {"dead", "set_aside"}  # states that have a row of their own, in words


def text(now: Status) -> str:
    """The tables, and what there is to say beside them."""
    if now.streams is None:
        return "\n\n".join(
            (_delivery(now), _background(now), _red("Redis cannot be reached; events wait in PostgreSQL"))
        )
    streams = [
        (stream.name, stream.length, stream.lag, stream.pending, _age(stream.oldest_seconds)) for stream in now.streams
    ]
    alive = len(now.workers or ())
    workers = [click.style(f"{alive} worker{'' if alive == 1 else 's'} alive", "green" if alive else "red")] + [
        _red(f"{worker.name} is silent for {worker.idle_seconds:.0f} s: frozen, cut off or killed; others take over")
        for worker in now.silent_workers or ()
    ]
    table = _table("Streams", ("stream", "length", "lag", "pending", "oldest"), streams)
    return "\n\n".join((_delivery(now), table, _background(now), "\n".join(workers)))


def _delivery(now: Status) -> str:
    why = "their receivers asked for it (Retry-After), or their workspace is suspended" if now.paused_endpoints else ""
    died = "no worker survives them, or no relay makes them: leadwire set-aside list" if now.set_aside else ""
    rows = [
        ("unrelayed events", now.unrelayed.events, _age(now.unrelayed.oldest_seconds), ""),
        *((state, count, "", "") for state, count in now.deliveries.items() if state not in _BELOW),
        ("overdue", _alarming(now.overdue.deliveries), _age(now.overdue.oldest_seconds), ""),
        *(
            (f"  {row.endpoint}, window {row.window}", row.deliveries, _age(row.oldest_seconds), row.url)
            for row in now.behind
        ),
        ("paused endpoints", now.paused_endpoints, "", why),
        ("dead letters", now.dead_letters, "", ""),
        ("set aside", _alarming(now.set_aside), "", died),
    ]
    return _table("Delivery", ("", "count", "oldest", ""), rows)


def _background(now: Status) -> str:
    """What is done in the background, and whether anybody does it."""
    rows = [
        (job.kind, job.waiting, _age(job.oldest_seconds), job.failing or "", _alarming(job.failed), job.oldest or "")
        for job in now.jobs
        if job.waiting or job.failing or job.failed
    ]
    said = "Background: nothing waits, and nothing has failed"
    if rows:
        said = _table("Background", ("kind", "waiting", "oldest", "failing", "failed", ""), rows)
    if now.background_seconds is None or now.background_seconds > UNATTENDED:
        said += f"\n{_red('no background process runs: leadwire background')}"
    return said


def _table(title: str, headings: Sequence[str], rows: Iterable[Sequence[object]]) -> str:
    """A table whose columns are figures but for the first, and for one without a heading."""
    lines = [[str(cell) for cell in row] for row in (headings, *rows)]
    widths = [max(len(click.unstyle(cell)) for cell in column) for column in zip(*lines, strict=True)]
    for line in lines:
        for number, (cell, width, heading) in enumerate(zip(line, widths, headings, strict=True)):
            blank = " " * (width - len(click.unstyle(cell)))
            line[number] = blank + cell if number and heading else cell + blank
    return "\n".join([title, *(f"  {'  '.join(line)}".rstrip() for line in lines)])


def _age(seconds: float) -> str:
    age = f"{seconds:.1f} s" if seconds else ""
    return _red(age) if seconds > _LATE else age


def _alarming(count: int) -> str:
    return _red(str(count)) if count else "0"


def _red(words: str) -> str:
    return click.style(words, "red")
