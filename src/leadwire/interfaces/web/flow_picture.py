"""A draft as a picture: steps in columns by their distance from the start, with a line for each way on."""

from collections.abc import Mapping, Sequence
from typing import Final

from msgspec import Struct

from leadwire.domain.bots import editing, fields
from leadwire.domain.bots.check import levels
from leadwire.domain.bots.editing import Draft
from leadwire.domain.bots.fields import Step
from leadwire.interfaces.web import step_words

WIDE: Final = 216
_HEAD, _ROW, _MARGIN, _GAP_X, _GAP_Y = 54, 22, 16, 72, 22  # pixels
_LETTERS: Final = 29


class Way(Struct, frozen=True):
    """A way on from a step."""

    name: str
    """Its field, such as `options/0/next`."""
    label: str
    """Empty for a step that has no other."""
    y: int
    """The height of the port that it starts at, at the right side of the box."""
    target: str | None
    line: str
    """The path of the line to its target; empty without one."""
    state: str
    """`fail` after an answer that does not fit, `if` where it depends, `open` where it has to lead somewhere."""


class Box(Struct, frozen=True):
    """A step."""

    id: str
    kind: str
    word: str
    text: str
    about: str
    x: int
    y: int
    height: int
    ways: list[Way]


class Picture(Struct, frozen=True):
    """The size, and every step that has an id."""

    width: int
    height: int
    boxes: list[Box]


def picture(draft: Draft) -> Picture:
    """Lay a draft out. Steps to which nothing leads stand below the others."""
    steps = {one["id"]: one for one in editing.steps(draft)}
    ways = {name: list(fields.exits(one)) for name, one in steps.items()}
    leads = {name: [target for _, target, _ in found if target and target in steps] for name, found in ways.items()}
    drawn = {name: _drawn(steps[name], found) for name, found in ways.items()}
    heights = {name: _HEAD + (len(found) * _ROW if len(found) > 1 else 0) for name, found in drawn.items()}
    places = _places(leads, str(draft.get("start")), heights)
    boxes = [
        Box(
            id=name, kind=str(step.get("type", "")), word=step_words.kind(step), text=step_words.text(step),
            about=_short(step_words.text(step)), x=places[name][0], y=places[name][1], height=heights[name],
            ways=[_way(step, found, place, len(drawn[name]), places) for place, found in enumerate(drawn[name])],
        )
        for name, step in steps.items()
    ]  # fmt: skip
    width = max((box.x for box in boxes), default=0) + WIDE + _MARGIN + _GAP_X // 2
    height = max((box.y + box.height for box in boxes), default=0) + 2 * _MARGIN
    return Picture(width, height, boxes)


def _drawn(step: Step, found: Sequence[tuple[str, str | None, bool]]) -> list[tuple[str, str | None, bool]]:
    """The ways that have a port: each of a list's rows, and those that are set or have to be."""
    rows = [one for one in found if "/" in one[0]]
    return [*rows, *(one for one in found if "/" not in one[0] and (one[1] or one[2] or step.get("type") == "handoff"))]


def _places(leads: Mapping[str, Sequence[str]], start: str, heights: Mapping[str, int]) -> dict[str, tuple[int, int]]:
    columns = levels(leads, [start]) if start in leads else []
    placed = {name for column in columns for name in column}
    reached = {target for name, ends in leads.items() if name not in placed for target in ends}
    apart = [name for name in leads if name not in placed]
    while apart:
        first = next((name for name in apart if name not in reached), apart[0])
        for place, names in enumerate(levels(leads, [first])):
            fresh = [name for name in names if name not in placed]
            columns += [[]] if place == len(columns) else []
            columns[place] += fresh
            placed.update(fresh)
        apart = [name for name in apart if name not in placed]
    places = {}
    for place, names in enumerate(columns):
        y = _MARGIN
        for name in names:
            places[name] = (_MARGIN + place * (WIDE + _GAP_X), y)
            y += heights[name] + _GAP_Y
    return places


def _way(
    step: Step, way: tuple[str, str | None, bool], row: int, rows: int, places: Mapping[str, tuple[int, int]]
) -> Way:
    name, target, required = way
    x, top = places[step["id"]]
    y = top + (_HEAD + row * _ROW + _ROW // 2 - 6 if rows > 1 else _HEAD // 2)
    state = "fail" if name.startswith("on_") else "if" if "/" in name else "next"
    line = _line(x + WIDE, y, *places[target]) if target and target in places else ""
    if required and not line:
        state = "open"
    label = _short(step_words.way(step, name)) if rows > 1 else ""
    return Way(name, label, y, target, line, state)


def _line(x: int, y: int, to_x: int, to_y: int) -> str:
    to_y += _HEAD // 2
    bend = 40 if to_x > x else 90
    lift = 0 if to_x > x else _HEAD  # a way back runs below its steps
    return f"M{x} {y}C{x + bend} {y + lift} {to_x - bend} {to_y + lift} {to_x} {to_y}"


def _short(text: str) -> str:
    """One line of a box."""
    line = " ".join(text.split())
    return line if len(line) <= _LETTERS else f"{line[: _LETTERS - 1]}…"
