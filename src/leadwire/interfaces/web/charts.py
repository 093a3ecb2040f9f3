"""Plots as SVG, drawn here: no script, no inline style; colors come from CSS classes, and each plot has its table.

Horizontal places are percentages, vertical ones pixels: the drawing stretches with the page, the letters do not.
"""

import math
from collections.abc import Callable, Iterator, Sequence
from typing import Final, Literal

import msgspec
from markupsafe import Markup, escape

_STEPS: Final = (1, 2, 2.5, 5, 10, 20, 25)
_LABELS: Final = 5  # along the bottom, at the most or so


class Series(msgspec.Struct, frozen=True):
    """One row of values, one for each label. `tone` is a CSS class: accent, good, warn, bad, muted."""

    name: str
    values: Sequence[float]
    tone: str = "accent"


def number(value: float) -> str:
    """1234 -> 1.23k."""
    for limit, suffix in ((1e9, "G"), (1e6, "M"), (1e3, "k")):
        if abs(value) >= limit:
            return f"{value / limit:.3g}{suffix}"
    return f"{value:.3g}"


def milliseconds(value: float | None) -> str:
    """12.3 -> 12.3 ms, 1234 -> 1.23 s; nothing -> a dash."""
    if value is None:
        return "—"
    return f"{value / 1000:.3g} s" if value >= 1000 else f"{value:.3g} ms"


def bar_sparkline(title: str, good: Sequence[float], bad: Sequence[float]) -> Markup:
    """A small row of bars: what failed on top of what was delivered."""
    width, height = 120, 28
    top = max((one + other for one, other in zip(good, bad, strict=True)), default=0) or 1
    slot = width / max(1, len(good))
    drawn = []
    for place, (one, other) in enumerate(zip(good, bad, strict=True)):
        x, across = place * slot + 0.5, slot - 1
        high_bad = max(other / top * (height - 1), 2) if other else 0
        high_good = one / top * (height - 1 - high_bad) if one else 0
        if not one + other:
            drawn.append(_rect("none", f"{x:.1f}", height - 1, f"{across:.1f}", 1))
            continue
        drawn.append(_rect("good", f"{x:.1f}", height - high_good - high_bad, f"{across:.1f}", high_good))
        drawn.append(_rect("bad", f"{x:.1f}", height - high_bad, f"{across:.1f}", high_bad))
    label = f"{title}: {number(sum(good))} delivered, {number(sum(bad))} failed"
    return Markup(  # noqa: S704 - numbers of ours, and an escaped title
        f'<svg class="spark" viewBox="0 0 {width} {height}" role="img" aria-label="{escape(label)}"'
        f' preserveAspectRatio="none">{"".join(drawn)}</svg>'
    )


def plot(
    title: str,
    labels: Sequence[str],
    series: Sequence[Series],
    kind: Literal["line", "area", "bars"] = "line",
    show: Callable[[float], str] = number,
    height: int = 200,
) -> Markup:
    """Lines, areas or stacked bars over a round grid, and the same numbers as a table."""
    drawn = _Drawing(labels, series, kind, show, height - 30)
    legend = "".join(f'<li class="{s.tone}">{escape(s.name)}</li>' for s in series)
    return Markup(  # noqa: S704 - every text in it is escaped
        f'<figure class="plot"><figcaption>{escape(title)}<ul class="legend">{legend}</ul></figcaption>'
        f'<svg class="chart" height="{height}" role="img" aria-label="{escape(title)}">{"".join(drawn)}</svg>'
        f'<details class="chart-data"><summary>Show as table</summary>{_table(labels, series, show)}</details></figure>'
    )


def funnel(title: str, steps: Sequence[tuple[str, int]]) -> Markup:
    """How many are left after each step; the shares are of the first one."""
    whole = steps[0][1] or 1
    drawn = "".join(
        f"<li><span>{escape(name)}</span><b>{value:,}</b><small>{value / whole:.0%}</small>"
        '<svg viewBox="0 0 100 1" preserveAspectRatio="none" aria-hidden="true">'
        f"{_rect('none', '0', 0, '100', 1)}"
        f"{_rect('accent', '0', 0, f'{min(100, 100 * value / whole):.1f}', 1)}</svg></li>"
        for name, value in steps
    )
    return Markup(  # noqa: S704 - numbers of ours, and escaped names
        f'<figure class="plot"><figcaption>{escape(title)}</figcaption><ol class="funnel">{drawn}</ol></figure>'
    )


def ticks(peak: float, *, whole: bool = False) -> list[float]:
    """Round values from 0 up to at least `peak`: three to six, fewer where they are `whole` numbers of little."""
    peak = peak if peak > 0 else 1
    power = 10 ** math.floor(math.log10(peak))
    steps = (s * power / 10 for s in _STEPS if peak <= 5 * s * power / 10)
    step = next(step for step in steps if not whole or step.is_integer())
    return [step * place for place in range(math.ceil(peak / step) + 1)]


class _Drawing(msgspec.Struct, frozen=True):
    labels: Sequence[str]
    series: Sequence[Series]
    kind: str
    show: Callable[[float], str]
    inner: int

    def __iter__(self) -> Iterator[str]:
        stacked = self.kind == "bars"
        columns = list(zip(*(s.values for s in self.series), strict=True))
        peak = max((sum(column) if stacked else max(column) for column in columns), default=1)
        grid = ticks(peak, whole=self.show is number)
        slot = 100 / max(1, len(self.labels) if stacked else len(self.labels) - 1)
        yield from self._grid(grid)
        yield from self._bottom(slot, middle=stacked)
        yield from self._bars(grid[-1], slot) if stacked else self._lines(grid[-1], slot)
        yield from self._tips(slot, shift=0 if stacked else 0.5)

    def _y(self, value: float, top: float) -> float:
        return self.inner * (1 - value / top)

    def _grid(self, grid: list[float]) -> Iterator[str]:
        for value in grid:
            y = self._y(value, grid[-1])
            yield f'<line class="grid" x1="0" x2="100%" y1="{y:.1f}" y2="{y:.1f}"/>'
            yield f'<text class="tick" x="-8" y="{y + 3.5:.1f}" text-anchor="end">{escape(self.show(value))}</text>'

    def _bottom(self, slot: float, *, middle: bool) -> Iterator[str]:
        last = len(self.labels) - 1
        for place in range(0, last + 1, max(1, math.ceil(len(self.labels) / _LABELS))):
            anchor = "middle" if middle or 0 < place < last else "start" if place == 0 else "end"
            x = place * slot + (slot / 2 if middle else 0)
            yield f'<text class="tick" x="{x:.2f}%" y="{self.inner + 17}" text-anchor="{anchor}">'
            yield f"{escape(self.labels[place])}</text>"

    def _bars(self, top: float, slot: float) -> Iterator[str]:
        for place in range(len(self.labels)):
            base = 0.0
            for one in self.series:
                if value := one.values[place]:
                    high = self._y(base, top) - self._y(base + value, top)
                    x, across = f"{place * slot + slot * 0.08:.2f}%", f"{slot * 0.84:.2f}%"
                    yield _rect(one.tone, x, self._y(base + value, top), across, high)
                base += value

    def _lines(self, top: float, slot: float) -> Iterator[str]:
        yield f'<svg viewBox="0 0 1000 {self.inner}" width="100%" height="{self.inner}" preserveAspectRatio="none">'
        for one in self.series:
            points = " ".join(f"{i * slot * 10:.1f},{self._y(value, top):.1f}" for i, value in enumerate(one.values))
            if self.kind == "area":
                yield f'<polygon class="fill {one.tone}" points="0,{self.inner} {points} 1000,{self.inner}"/>'
            yield f'<polyline class="stroke {one.tone}" points="{points}"/>'
        yield "</svg>"

    def _tips(self, slot: float, shift: float) -> Iterator[str]:
        """Invisible columns that carry the tooltips."""
        for place, label in enumerate(self.labels):
            values = ", ".join(f"{one.name} {self.show(one.values[place])}" for one in self.series)
            yield f'<rect class="hit" x="{(place - shift) * slot:.2f}%" width="{slot:.2f}%" y="0"'
            yield f' height="{self.inner}"><title>{escape(label)}: {escape(values)}</title></rect>'


def _table(labels: Sequence[str], series: Sequence[Series], show: Callable[[float], str]) -> str:
    head = "".join(f'<th scope="col">{escape(s.name)}</th>' for s in series)
    rows = "".join(
        f'<tr><th scope="row">{escape(label)}</th>'
        + "".join(f"<td>{escape(show(s.values[place]))}</td>" for s in series)
        + "</tr>"
        for place, label in enumerate(labels)
    )
    return (
        f'<div tabindex="0" role="region" aria-label="Values"><table><thead><tr><td></td>{head}</tr></thead>'
        f"<tbody>{rows}</tbody></table></div>"
    )


def _rect(tone: str, x: str, y: float, width: str, height: float) -> str:
    return f'<rect class="{tone}" x="{x}" y="{y:.1f}" width="{width}" height="{height:.1f}"/>'
