"""Reports: from visitors who saw the widget to leads, where they stop and where they come from; how people answer, and
what visitors think. Each beside the period before; on a screen, and each as a file.
"""

import textwrap
from collections.abc import Sequence
from datetime import timedelta
from pathlib import Path
from typing import Final

import msgspec
from msgspec import Struct

from leadwire.domain.bots import figures, reads
from leadwire.domain.bots.changes.counts import Kind
from leadwire.domain.bots.flow.graph import in_order, onward
from leadwire.domain.conversations import figures as conversations
from leadwire.domain.listing import spreadsheets
from leadwire.infrastructure import clock
from leadwire.infrastructure.errors import NotFound
from leadwire.interfaces.web.routes import PageContext, PageResponse, Values, screen
from leadwire.interfaces.web.screens.overview import PeriodQuery, period

_MOST: Final = 20  # rows of websites and campaigns on the screen; a file has 1000
_FILE: Final = 1000
_FUNNEL: Final[tuple[Kind, ...]] = ("shown", "opened", "started", "lead", "handoff")  # as the columns of `bots`
_LEADS: Final[dict[Kind, Kind]] = {"source": "source_lead", "campaign": "campaign_lead"}
Cell = str | float | None


class Report(Struct, frozen=True):
    """A table. `bars`: its first figures are drawn, too."""

    title: str
    about: str
    """What its figures are."""
    columns: dict[str, str]
    """Each column's kind, by its name."""
    key: str = ""
    rows: Sequence[Sequence[Cell]] = ()
    bars: bool = True

    @property
    def largest(self) -> float:
        """What the bars are drawn against; 0 for none."""
        firsts = [row[1] for row in self.rows] if self.bars else []
        return max((first for first in firsts if first and not isinstance(first, str)), default=0)


_WORDS: Final = msgspec.toml.decode(Path(__file__).with_suffix(".toml").read_bytes(), type=dict[str, Report])


@screen("/reports", "reports.html")
async def reports(context: PageContext) -> Values:
    """Everything of a period. Days are UTC."""
    query, names, tables = await _tables(context, _MOST)
    return {"query": query, "bots": names, "reports": tables}


@screen("/reports/{key}/csv")
async def report_file(context: PageContext, key: str) -> PageResponse:
    """One of them as a file."""
    _, _, tables = await _tables(context, _FILE)
    if (table := next((table for table in tables if table.key == key), None)) is None:
        raise NotFound("There is no such report.")
    return context.download(
        f"{key}.csv", "text/csv", spreadsheets.table([tuple(table.columns), *map(tuple, table.rows)])
    )


async def _tables(context: PageContext, most: int) -> tuple[PeriodQuery, dict[str, str], list[Report]]:
    """What is asked for, the names of the bots, and every report with at `most` so many websites and campaigns."""
    query, names, since = await period(context)
    workspace, bot_id, length = context.workspace, query.bot_id, timedelta(days=query.days)
    sums = await figures.sums(workspace, bot_id, since.date(), query.days)
    reports = [_funnel(sums)]
    if bot_id:
        reports.append(await _steps(workspace, bot_id, await figures.steps(workspace, bot_id, since)))
    elif len(names) > 1:
        reports.append(_bots(names, await figures.by_bot(workspace, since.date())))
    reports += [_origins(kind, sums, most) for kind in _LEADS]
    now = await conversations.responses(workspace, bot_id, since, clock.now())
    before = await conversations.responses(workspace, bot_id, since - length, since)
    reports.append(_people(now, before, await conversations.waiting(workspace, bot_id)))
    reports.append(_ratings(await conversations.ratings(workspace, bot_id, since, length)))
    return query, names, reports


def _funnel(sums: dict[Kind, dict[str, figures.Pair]]) -> Report:
    _, *names = _WORDS["bots"].columns
    pairs = [(name, sums.get(kind, {}).get("", figures.Pair())) for name, kind in zip(names, _FUNNEL, strict=True)]
    started = pairs[2][1].now
    rows = [
        (name, pair.now, _share(pair.now, pairs[index - 1][1].now if index < 3 else started) if index else None,
         pair.before, _change(*pair))
        for index, (name, pair) in enumerate(pairs)
    ]  # fmt: skip
    return _report("funnel", rows)


async def _steps(workspace: str, bot_id: str, counts: dict[str, figures.StepCount]) -> Report:
    """The messages and questions of the published flow, in its order."""
    bot = await reads.detail(workspace, bot_id)
    rows: list[Sequence[Cell]] = []
    if version := bot.published_version or bot.paused_version:
        flow = await reads.flow(workspace, bot_id, version)
        nodes = {node.id: node for node in flow.nodes}
        for node in (nodes[node_id] for node_id in in_order(onward(flow), flow.start)):
            count = counts.get(node.id, figures.StepCount(0, 0))
            if text := getattr(node, "text", None):
                name = f"{node.id}: {textwrap.shorten(text, 80, placeholder='…')}"
                rows.append((name, count.entered, count.left, _share(count.left, count.entered)))
    return _report("steps", rows)


def _bots(names: dict[str, str], counts: dict[str, dict[Kind, int]]) -> Report:
    rows: list[Sequence[Cell]] = [
        (name, *(counts.get(bot_id, {}).get(kind, 0) for kind in _FUNNEL)) for bot_id, name in names.items()
    ]
    return _report("bots", rows)


def _origins(kind: Kind, sums: dict[Kind, dict[str, figures.Pair]], most: int) -> Report:
    leads = sums.get(_LEADS[kind], {})
    rows: list[Sequence[Cell]] = []
    for origin, pair in list(sums.get(kind, {}).items())[:most]:
        new = leads.get(origin, figures.Pair()).now
        rows.append((origin, pair.now, new, _share(new, pair.now), pair.before, _change(*pair)))
    return _report(f"{kind}s", rows)


def _people(now: conversations.Responses, before: conversations.Responses, waiting: conversations.Waiting) -> Report:
    longest = (clock.now() - waiting.since).total_seconds() if waiting.since else None
    rows: list[Sequence[Cell]] = [
        ("Asked for a person", str(now.asked), str(before.asked)),
        ("Answered by a person", str(now.answered), str(before.answered)),
        ("First response, half within", _span(now.median), _span(before.median)),
        ("First response, 9 in 10 within", _span(now.most), _span(before.most)),
        ("Waiting at this moment", str(waiting.count), None),
        ("Longest wait at this moment", _span(longest), None),
    ]
    return _report("people", rows, most=f"{conversations.MOST:,}")


def _ratings(ratings: dict[int, tuple[int, int]]) -> Report:
    totals = [sum(pair[index] for pair in ratings.values()) for index in (0, 1)]
    means = [
        sum(rating * pair[index] for rating, pair in ratings.items()) / totals[index] if totals[index] else None
        for index in (0, 1)
    ]
    rows: list[Sequence[Cell]] = [
        (f"{rating} of 5", now, _share(now, totals[0]), before, _change(now, before))
        for rating, (now, before) in ratings.items()
        if any(totals)
    ]
    mean = f"On average {means[0]:.1f} of 5" if means[0] else "No ratings yet"
    return _report("ratings", rows, mean=f"{mean}{f', before {means[1]:.1f}' if means[1] else ''}")


def _report(key: str, rows: Sequence[Sequence[Cell]], **values: str) -> Report:
    words = _WORDS[key]
    return msgspec.structs.replace(words, key=key, rows=rows, about=words.about.format(**values))


def _share(part: float, whole: float) -> float | None:
    return part / whole if whole else None


def _change(now: float, before: float) -> float | None:
    return now / before - 1 if before else None


def _span(seconds: float | None) -> str | None:
    """12 s, 3 min 5 s, 2 h 10 min."""
    if seconds is None:
        return None
    minutes, rest = divmod(round(seconds), 60)
    hours, left = divmod(minutes, 60)
    return f"{hours} h {left} min" if hours else f"{minutes} min {rest} s" if minutes else f"{rest} s"
