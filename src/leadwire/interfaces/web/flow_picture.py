"""A flow as SVG: nodes in columns by their distance from the start, ways on as curves."""

from typing import Final

from markupsafe import Markup, escape

from leadwire.domain.bots import graph
from leadwire.domain.bots.flow import Flow

_WIDE, _HIGH, _GAP_X, _GAP_Y = 150, 44, 56, 18
_LETTERS: Final = 21


def picture(flow: Flow) -> Markup:
    """The whole flow; its text is in each node's tooltip."""
    columns = graph.columns(flow)
    places = {
        node: (10 + x * (_WIDE + _GAP_X), 10 + y * (_HIGH + _GAP_Y))
        for x, column in enumerate(columns)
        for y, node in enumerate(column)
    }
    width = 20 + len(columns) * (_WIDE + _GAP_X) - _GAP_X
    height = 20 + max(map(len, columns), default=1) * (_HIGH + _GAP_Y) - _GAP_Y + 24
    drawn = [_curve(places[e.start], places[e.end], e.kind) for e in graph.edges(flow) if e.start in places]
    for node in flow.nodes:
        if node.id in places:
            kind, text = graph.kind_of(node), graph.text_of(node)
            drawn.append(_box(places[node.id], node.id, kind, text))
    return Markup(  # noqa: S704 - every text in it is escaped
        f'<svg class="flow" width="{width}" height="{height}" viewBox="0 0 {width} {height}" role="img"'
        f' aria-label="The flow: {len(flow.nodes)} nodes">{"".join(drawn)}</svg>'
    )


def _box(place: tuple[int, int], name: str, kind: str, text: str) -> str:
    x, y = place
    return (
        f'<g class="node {kind}"><title>{escape(name)} ({kind}): {escape(text)}</title>'
        f'<rect x="{x}" y="{y}" width="{_WIDE}" height="{_HIGH}" rx="8"/>'
        f'<text class="name" x="{x + 10}" y="{y + 18}">{escape(_short(name))}</text>'
        f'<text class="about" x="{x + 10}" y="{y + 34}">{escape(_short(text or kind))}</text></g>'
    )


def _curve(start: tuple[int, int], end: tuple[int, int], kind: str) -> str:
    x1, y1 = start[0] + _WIDE, start[1] + _HIGH / 2
    x2, y2 = end[0], end[1] + _HIGH / 2
    bend = 28 if x2 > x1 else 60
    lift = 0 if x2 > x1 else _HIGH  # a way back runs below its nodes
    path = f"M{x1} {y1:g}C{x1 + bend} {y1 + lift:g} {x2 - bend} {y2 + lift:g} {x2} {y2:g}"
    return f'<path class="way {kind}" d="{path}"/>'


def _short(text: str) -> str:
    line = " ".join(text.split())
    return line if len(line) <= _LETTERS else f"{line[: _LETTERS - 1]}…"
