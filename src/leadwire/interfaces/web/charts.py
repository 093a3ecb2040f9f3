"""Where the parts of drawings are: templates draw them as SVG, with colors from CSS classes.

In plots, horizontal places are percentages and vertical ones pixels: the drawing stretches with the page, the letters
do not.
"""

import functools
import math
from collections.abc import Iterator, Sequence
from typing import Final

import msgspec

_STEPS: Final = (1, 2, 2.5, 5, 10, 20, 25)
_LABELS: Final = 5  # along the bottom, at the most or so

Bar = tuple[str, str, str, str, str]
"""The tone, x, y, width and height of a rectangle: Jinja formats numbers ten times as slowly."""


class Series(msgspec.Struct, frozen=True):
    """One row of values, one for each label: None leaves a bar out. `tone` is a CSS class: accent,
    good, warn, bad, muted.
    """

    name: str
    values: Sequence[float | None]
    tone: str = "accent"


class Plot(msgspec.Struct, frozen=True, dict=True):
    """Stacked bars, or areas. `whole`: the values are counts."""

    labels: Sequence[str]
    series: Sequence[Series]
    stacked: bool
    whole: bool
    height: int

    @functools.cached_property
    def marks(self) -> list[float]:
        """The values of the grid's lines, from 0."""
        columns = zip(*([value or 0 for value in series.values] for series in self.series), strict=True)
        peak = max((sum(column) if self.stacked else max(column) for column in columns), default=1)
        return ticks(peak, whole=self.whole)

    @functools.cached_property
    def slot(self) -> float:
        """The width of what belongs to one label."""
        return 100 / max(1, len(self.labels) if self.stacked else len(self.labels) - 1)

    def x(self, index: int) -> float:
        """The middle of a label's slot."""
        return index * self.slot + (self.slot / 2 if self.stacked else 0)

    def y(self, value: float) -> float:
        """The height of a value, from the top."""
        return self.height * (1 - value / self.marks[-1])

    def bottom(self) -> Iterator[tuple[float, str]]:
        """The labels along the bottom that there is room for: the middle and the text."""
        for index in range(0, len(self.labels), max(1, math.ceil(len(self.labels) / _LABELS))):
            yield self.x(index), self.labels[index]

    def bars(self) -> Iterator[Bar]:
        """The stacked bars."""
        for index in range(len(self.labels)):
            base = 0.0
            for series in self.series:
                if value := series.values[index]:
                    y = self.y(base + value)
                    x, width = self.slot * (index + 0.08), self.slot * 0.84
                    yield series.tone, f"{x:.2f}%", f"{y:.1f}", f"{width:.2f}%", f"{self.y(base) - y:.1f}"
                base += value or 0

    def tips(self) -> Iterator[tuple[str, str]]:
        """The left end of each label's slot, for the invisible columns that carry the tooltips."""
        for index, label in enumerate(self.labels):
            yield f"{self.x(index) - self.slot / 2:.2f}%", label

    def points(self, series: Series) -> str:
        """The line of a series, 1000 wide."""
        return " ".join(f"{i * self.slot * 10:.1f},{self.y(value or 0):.1f}" for i, value in enumerate(series.values))


def spark(good: Sequence[float], bad: Sequence[float]) -> Iterator[Bar]:
    """A small row of bars, 120 by 28: what was delivered on top of what failed."""
    columns = list(zip(good, bad, strict=True))
    top, slot = max(map(sum, columns), default=0) or 1, 120 / max(1, len(columns))
    for index, (successes, failures) in enumerate(columns):
        x, width = f"{index * slot + 0.5:.1f}", f"{slot - 1:.1f}"
        high_bad = max(failures / top * 27, 2) if failures else 0
        high_good = successes / top * (27 - high_bad)
        if not successes + failures:
            yield "none", x, "27", width, "1"
        yield "good", x, f"{28 - high_good - high_bad:.1f}", width, f"{high_good:.1f}"
        yield "bad", x, f"{28 - high_bad:.1f}", width, f"{high_bad:.1f}"


def ticks(peak: float, *, whole: bool = False) -> list[float]:
    """Round values from 0 up to at least `peak`: three to six, fewer where they are `whole` numbers of little."""
    peak = peak if peak > 0 else 1
    power = 10 ** math.floor(math.log10(peak))
    steps = (s * power / 10 for s in _STEPS if peak <= 5 * s * power / 10)
    step = next(step for step in steps if not whole or step.is_integer())
    return [step * number for number in range(math.ceil(peak / step) + 1)]


def short(value: float) -> str:
    """1234 -> 1.23k."""
    for limit, suffix in ((1e9, "G"), (1e6, "M"), (1e3, "k")):
        if abs(value) >= limit:
            return f"{value / limit:.3g}{suffix}"
    return f"{value:.3g}"


def ms(value: float | None) -> str:
    """12.3 -> 12.3 ms, 1234 -> 1.23 s; nothing -> a dash."""
    if value is None:
        return "—"
    return f"{value / 1000:.3g} s" if value >= 1000 else f"{value:.3g} ms"
