"""What changed between two texts, line by line. Pure, and linear but for a sort, whatever the texts are.

Lines that each text has exactly once are its fixed points (patience diff). What stands between two of them is compared
from both ends; the rest counts as replaced. `difflib` finds smaller differences, but takes seconds for a large flow.
"""

import bisect
from collections.abc import Sequence
from typing import Final

from msgspec import Struct

LINES: Final = 1000
"""Lines of a difference at most."""
_LONGEST: Final = 200  # characters of a line
_CONTEXT: Final = 2  # unchanged lines around a change

Line = tuple[str, str]
"""A sign and a text: `+`, `-`, a blank, or `@` where unchanged lines are left out."""


class TextDiff(Struct, frozen=True):
    """At most `LINES` lines; `more` is how many were left out at the end."""

    lines: list[Line]
    more: int


def compare(old: str, new: str) -> TextDiff:
    """How `old` became `new`."""
    lines = _shortened(_compared(old.splitlines(), new.splitlines()))
    return TextDiff([(sign, text[:_LONGEST]) for sign, text in lines[:LINES]], max(0, len(lines) - LINES))


def _compared(old: Sequence[str], new: Sequence[str]) -> list[Line]:
    lines: list[Line] = []
    i = j = 0
    for a, b in [*_fixed(old, new), (len(old), len(new))]:
        while i < a and j < b and old[i] == new[j]:
            lines.append((" ", old[i]))
            i, j = i + 1, j + 1
        same = 0
        while a - same > i and b - same > j and old[a - same - 1] == new[b - same - 1]:
            same += 1
        lines += [("-", text) for text in old[i : a - same]]
        lines += [("+", text) for text in new[j : b - same]]
        lines += [(" ", text) for text in old[a - same : a]]
        i, j = a, b
    return lines


def _fixed(old: Sequence[str], new: Sequence[str]) -> list[tuple[int, int]]:
    """Where the lines stand that both texts have once: as many of them as are in the same order in both."""
    places = _once(new)
    shared = [(line, places[text]) for text, line in _once(old).items() if text in places]
    ends: list[int] = []  # the smallest last place in `new` of an ascending chain of each length
    chains: list[int] = []  # the index in `shared` of that last member
    before: list[int] = []  # for each of `shared`, the index of its predecessor, or -1
    for index, (_, line) in enumerate(shared):
        length = bisect.bisect_left(ends, line)
        before.append(chains[length - 1] if length else -1)
        ends[length : length + 1] = [line]
        chains[length : length + 1] = [index]
    points, index = [], chains[-1] if chains else -1
    while index >= 0:
        points.append(shared[index])
        index = before[index]
    return points[::-1]


def _once(lines: Sequence[str]) -> dict[str, int]:
    """The lines that stand there exactly once, in their order, and where."""
    places: dict[str, int] = {}
    for number, text in enumerate(lines):
        places[text] = -1 if text in places else number
    return {text: number for text, number in places.items() if number >= 0}


def _shortened(lines: list[Line]) -> list[Line]:
    """Without the unchanged lines that are far from every change."""
    changes = (number for number, (sign, _) in enumerate(lines) if sign != " ")
    near = {beside for change in changes for beside in range(change - _CONTEXT, change + _CONTEXT + 1)}
    shortened: list[Line] = []
    for number, line in enumerate(lines):
        if number in near:
            shortened.append(line)
        elif not shortened or shortened[-1][0] != "@":
            shortened.append(("@", "⋯"))
    return shortened
