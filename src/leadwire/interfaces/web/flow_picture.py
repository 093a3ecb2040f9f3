"""Where the parts of a flow's picture are: nodes in columns by their distance from the start, ways on as curves."""

from typing import Final

from msgspec import Struct

from leadwire.domain.bots import graph
from leadwire.domain.bots.flow import Flow

_WIDE, _HIGH, _GAP_X, _GAP_Y = 150, 44, 56, 18
_MARGIN: Final = 10


class Picture(Struct, frozen=True):
    """In pixels."""

    width: int
    height: int
    boxes: list[tuple[int, int, str, str, str]]
    """Of each node, the left and upper end, the id, the kind and the text."""
    ways: list[tuple[str, str]]
    """Of each way, the kind and the path."""
    box: tuple[int, int] = _WIDE, _HIGH


def picture(flow: Flow) -> Picture:
    """The nodes that can be reached."""
    columns = graph.columns(flow)
    places = {
        node: (_MARGIN + x * (_WIDE + _GAP_X), _MARGIN + y * (_HIGH + _GAP_Y))
        for x, column in enumerate(columns)
        for y, node in enumerate(column)
    }
    return Picture(
        width=2 * _MARGIN + len(columns) * (_WIDE + _GAP_X) - _GAP_X,
        height=2 * _MARGIN + max(map(len, columns), default=1) * (_HIGH + _GAP_Y) - _GAP_Y + 24,
        boxes=[
            (*places[node.id], node.id, graph.kind_of(node), graph.text_of(node))
            for node in flow.nodes
            if node.id in places
        ],
        ways=[(e.kind, _curve(places[e.start], places[e.end])) for e in graph.edges(flow) if e.start in places],
    )


def _curve(start: tuple[int, int], end: tuple[int, int]) -> str:
    x1, y1 = start[0] + _WIDE, start[1] + _HIGH / 2
    x2, y2 = end[0], end[1] + _HIGH / 2
    bend = 28 if x2 > x1 else 60
    lift = 0 if x2 > x1 else _HIGH  # a way back runs below its nodes
    return f"M{x1} {y1:g}C{x1 + bend} {y1 + lift:g} {x2 - bend} {y2 + lift:g} {x2} {y2:g}"
