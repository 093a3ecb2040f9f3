"""Reports: from visitors who saw the widget to leads, where they stop and where they come from; how people answer, and
what visitors think. Each beside the period before; on a screen, and each as a file.
"""

import textwrap
from collections.abc import Sequence
from datetime import datetime, timedelta
from typing import Final

from msgspec import Struct

from leadwire.domain.bots import figures, reads
from leadwire.domain.bots.changes.counts import Kind
from leadwire.domain.bots.figures import Pair
from leadwire.domain.bots.flow.check import in_order, onward
from leadwire.domain.conversations import figures as conversations
from leadwire.domain.listing import spreadsheets
from leadwire.infrastructure import clock
from leadwire.infrastructure.errors import NotFound
from leadwire.interfaces.web.routes import PageContext, PageResponse, Values, screen
from leadwire.interfaces.web.screens.overview import period

_MOST: Final = 20  # rows of websites and campaigns on the screen; a file has 1000
_FILE: Final = 1000
_FUNNEL: Final[dict[Kind, str]] = {
    "shown": "Widget shown",
    "opened": "Widget opened",
    "started": "First message",
    "lead": "Left contact details",
    "handoff": "Asked for a person",
}
Cell = str | float | None


class Column(Struct, frozen=True):
    """A column: `kind` is text, count, share (of 1) or change (0.1: a tenth more)."""

    name: str
    kind: str = "count"


class Report(Struct, frozen=True):
    """A table. `about` says what its figures are. `bars`: the first one is drawn, too."""

    key: str
    title: str
    about: str
    columns: Sequence[Column]
    rows: Sequence[Sequence[Cell]]
    bars: bool = True

    @property
    def largest(self) -> float:
        """What the bars are drawn against; 0 for none."""
        firsts = [row[1] for row in self.rows] if self.bars else []
        return max((first for first in firsts if first and not isinstance(first, str)), default=0)


_NOW: Final = (Column("Now"), Column("Before"), Column("Change", "change"))


@screen("/reports", "reports.html")
async def reports(context: PageContext) -> Values:
    """Everything of a period. Days are UTC."""
    query, names, since = await period(context)
    tables = await _tables(context.workspace, query.bot_id, names, since, query.days, _MOST)
    return {"query": query, "bots": names, "reports": tables}


@screen("/reports/{key}/csv")
async def report_file(context: PageContext, key: str) -> PageResponse:
    """One of them as a file."""
    query, names, since = await period(context)
    tables = await _tables(context.workspace, query.bot_id, names, since, query.days, _FILE)
    if (table := next((table for table in tables if table.key == key), None)) is None:
        raise NotFound("There is no such report.")
    head = tuple(column.name for column in table.columns)
    return context.download(f"{key}.csv", "text/csv", spreadsheets.table([head, *map(tuple, table.rows)]))


async def _tables(
    workspace: str, bot_id: str | None, names: dict[str, str], since: datetime, days: int, most: int
) -> list[Report]:
    """Every report of so many days, of one bot or of all; `names` are those of the bots by id. Days are UTC.

    At `most` so many websites and campaigns are listed.
    """
    length = timedelta(days=days)
    sums = await figures.sums(workspace, bot_id, since.date(), days)
    reports = [_funnel(sums)]
    if bot_id:
        reports.append(await _steps(workspace, bot_id, await figures.steps(workspace, bot_id, since)))
    elif len(names) > 1:
        reports.append(_bots(names, await figures.by_bot(workspace, since.date())))
    reports += [
        _origins("sources", "Website", sums, "source", most),
        _origins("campaigns", "Campaign", sums, "campaign", most),
    ]
    now = await conversations.responses(workspace, bot_id, since, clock.now())
    before = await conversations.responses(workspace, bot_id, since - length, since)
    reports.append(_people(now, before, await conversations.waiting(workspace, bot_id)))
    reports.append(_ratings(await conversations.ratings(workspace, bot_id, since, length)))
    return reports


def _funnel(sums: dict[Kind, dict[str, Pair]]) -> Report:
    pairs = [(name, sums.get(kind, {}).get("", Pair())) for kind, name in _FUNNEL.items()]
    started = pairs[2][1].now
    rows = [
        (name, pair.now, _share(pair.now, pairs[index - 1][1].now if index < 3 else started) if index else None,
         pair.before, _change(*pair))
        for index, (name, pair) in enumerate(pairs)
    ]  # fmt: skip
    columns = (Column("Step", "text"), _NOW[0], Column("Of the step before", "share"), *_NOW[1:])
    about = "Page views with the widget, then conversations. The last two are shares of first messages."
    return Report("funnel", "From visitor to lead", about, columns, rows)


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
    columns = (Column("Step", "text"), Column("Came here"), Column("Came no further"), Column("Lost", "share"))
    about = "Conversations, each counted once at a step, in the order of the published flow."
    return Report("steps", "Where visitors stop", about, columns, rows)


def _bots(names: dict[str, str], counts: dict[str, dict[Kind, int]]) -> Report:
    rows: list[Sequence[Cell]] = [
        (name, *(counts.get(bot_id, {}).get(kind, 0) for kind in _FUNNEL)) for bot_id, name in names.items()
    ]
    columns = (Column("Bot", "text"), *map(Column, _FUNNEL.values()))
    return Report("bots", "Bots", "Choose a bot above to see where its visitors stop.", columns, rows, bars=False)


def _origins(key: str, name: str, sums: dict[Kind, dict[str, Pair]], kind: Kind, most: int) -> Report:
    leads = sums.get("source_lead" if kind == "source" else "campaign_lead", {})
    rows: list[Sequence[Cell]] = []
    for origin, pair in list(sums.get(kind, {}).items())[:most]:
        new = leads.get(origin, Pair()).now
        rows.append((origin, pair.now, new, _share(new, pair.now), pair.before, _change(*pair)))
    columns = (
        Column(name, "text"), Column("Conversations"), Column("New leads"), Column("Became leads", "share"), *_NOW[1:]
    )  # fmt: skip
    about = {
        "sources": "The website that led to the page where the conversation began.",
        "campaigns": "The utm_campaign of the page where the conversation began.",
    }[key]
    return Report(key, f"{name}s", about, columns, rows)


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
    columns = (Column("", "text"), Column("Now", "figure"), Column("Before", "figure"))
    about = f"From asking for a person to a person's first message, of the latest {conversations.MOST:,} conversations."
    return Report("people", "How soon people answer", about, columns, rows)


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
    about = f"{mean}{f', before {means[1]:.1f}' if means[1] else ''}. Visitors rate a conversation that has ended."
    columns = (Column("Rating", "text"), _NOW[0], Column("Share", "share"), *_NOW[1:])
    return Report("ratings", "Satisfaction", about, columns, rows)


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
