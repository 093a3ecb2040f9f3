"""A draft as a picture: steps in columns by their distance from the start, with a line for each way on."""

from collections.abc import Mapping, Sequence
from typing import Final

from msgspec import Struct

from leadwire.domain.bots.builder import editing, fields
from leadwire.domain.bots.builder.editing import Draft
from leadwire.domain.bots.builder.fields import Step
from leadwire.domain.bots.flow.check import levels
from leadwire.interfaces.web import step_words

WIDE: Final = 216
_HEAD, _ROW, _MARGIN, _GAP_X, _GAP_Y = 54, 22, 16, 72, 22  # pixels
_LETTERS: Final = 27


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
    """The left upper corner of each step: in its column beside those that lead to it, what is not reached below."""
    reached = {name for column in levels(leads, [start] if start in leads else []) for name in column}
    columns: dict[int, list[str]] = {}
    for name, column in _columns(leads, [start, *(name for name in leads if name not in reached)]).items():
        columns.setdefault(column, []).append(name)
    before: dict[str, list[str]] = {name: [] for name in leads}
    for name, ends in leads.items():
        for end in ends:
            before[end].append(name)
    places: dict[str, tuple[int, int]] = {}
    for column in sorted(columns):
        y = _MARGIN
        heads = {name: [places[one][1] for one in before[name] if one in places] for name in columns[column]}
        for name in sorted(heads, key=lambda one: (one not in reached, sum(heads[one]) / max(1, len(heads[one])))):
            places[name] = (_MARGIN + column * (WIDE + _GAP_X), y)
            y += heights[name] + _GAP_Y
    return places


def _columns(leads: Mapping[str, Sequence[str]], first: Sequence[str]) -> dict[str, int]:
    """The column of each step: one after the last of those that lead to it, but for ways back."""
    ended: dict[str, bool] = {}  # false while what it leads to is being visited
    order: list[str] = []
    back: set[tuple[str, str]] = set()
    for root in first:
        stack = [(root, iter(leads[root]))] if root in leads and root not in ended else []
        ended |= {name: False for name, _ in stack}
        while stack:
            name, ends = stack[-1]
            if (end := next(ends, None)) is None:
                ended[name] = True
                order.append(stack.pop()[0])
            elif end not in ended:
                ended[end] = False
                stack.append((end, iter(leads[end])))
            elif not ended[end]:
                back.add((name, end))
    columns = dict.fromkeys(reversed(order), 0)
    for name in columns:
        for end in leads[name]:
            if (name, end) not in back:
                columns[end] = max(columns[end], columns[name] + 1)
    return columns


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
