"""A draft as a picture: its steps as boxes, with a line for each way on."""

import textwrap
from typing import Final

from msgspec import Struct

from leadwire.domain.bots.builder import editing, fields
from leadwire.interfaces.web import step_labels
from leadwire.interfaces.web.flow_layout import WIDE, Edge, Point, laid_out

_HEAD, _LINE, _ROW = 36, 18, 22  # pixels: the kind of a step, a line of its text, a way on
_LETTERS: Final = 30  # of a line


class Way(Struct, frozen=True):
    """A way on from a step."""

    name: str
    """Its field, such as `options/0/next`."""
    label: str
    """Empty for a step that has no other."""
    x: int
    y: int
    """Where the port is that it starts at."""
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
    lines: list[str]
    """The beginning of its text."""
    x: int
    y: int
    height: int
    ways: list[Way]
    entered: bool
    """Whether a line leads to it."""


class Picture(Struct, frozen=True):
    """The size, and every step that has an id."""

    width: int
    height: int
    boxes: list[Box]


def picture(draft: editing.Draft) -> Picture:
    """Lay a draft out."""
    steps = {step["id"]: step for step in editing.steps(draft)}
    drawn = {name: _drawn(step) for name, step in steps.items()}
    lines = {name: _begun(" ".join(step_labels.text(step).split()) or "Nothing yet") for name, step in steps.items()}
    heads = {name: _HEAD + _LINE * len(texts) for name, texts in lines.items()}
    heights = {name: heads[name] + (len(exits) * _ROW + 4 if len(exits) > 1 else 0) for name, exits in drawn.items()}
    edges = {
        (name, path): Edge(name, target, heads[name] + row * _ROW + _ROW // 2 if len(exits) > 1 else None)
        for name, exits in drawn.items()
        for row, (path, target, _) in enumerate(exits)
        if target and target in steps
    }
    layout = laid_out(str(draft.get("start")), heights, list(edges.values()))
    paths = dict(zip(edges, layout.paths, strict=True))
    entered = {edge.target for edge in edges.values()}
    boxes = []
    for name, step in steps.items():
        x, y = layout.places[name]
        ways = []
        for row, way in enumerate(drawn[name]):
            many = len(drawn[name]) > 1
            loose = (x + WIDE, y + heads[name] + row * _ROW + _ROW // 2) if many else (x + WIDE // 2, y + heights[name])
            ways.append(_way(step, way, *paths.get((name, way[0]), (loose, "")), labeled=many))
        kind, word, text = str(step.get("type", "")), step_labels.kind(step), step_labels.text(step)
        boxes.append(Box(name, kind, word, text, lines[name], x, y, heights[name], ways, name in entered))
    return Picture(layout.width, layout.height, boxes)


def _drawn(step: fields.Step) -> list[fields.Exit]:
    """The ways that have a port: each of a list's rows, and those that are set or have to be."""
    exits = list(fields.exits(step))
    rows = [way for way in exits if "/" in way[0]]
    return [*rows, *(way for way in exits if "/" not in way[0] and (way[1] or way[2] or step.get("type") == "handoff"))]


def _way(step: fields.Step, way: fields.Exit, port: Point, line: str, *, labeled: bool) -> Way:
    name, target, required = way
    state = "fail" if name.startswith("on_") else "if" if "/" in name else "next"
    label = _short(step_labels.way(step, name)) if labeled else ""
    return Way(name, label, *port, target, line, "open" if required and not line else state)


def _short(text: str) -> str:
    """One line of a text."""
    line = " ".join(text.split())
    return line if len(line) <= _LETTERS else f"{line[: _LETTERS - 1]}…"


def _begun(text: str) -> list[str]:
    """The first two lines of a text."""
    return textwrap.wrap(text[:100], _LETTERS, max_lines=2, placeholder="…") if len(text) > _LETTERS else [text]
