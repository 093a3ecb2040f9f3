"""Where the steps of a picture stand and how the lines between them run, in pixels. Pure.

Steps stand in rows, from the start down. Lines run between columns and between rows, so that they cross no step; those
to the same step run together. A long flow goes on at the top, to the right of what was before.
"""

import math
from collections.abc import Iterator, Mapping, Sequence
from itertools import pairwise
from typing import Final

from msgspec import Struct

WIDE: Final = 240  # of a step
_ACROSS: Final = 3  # steps in a row
_MARGIN, _NEAR, _LANE, _BEND = 16, 14, 8, 7  # to the border; to a step; between two lines; of a corner
_GAP: Final = 34  # between two rows or columns with one line between them
_LONG, _RATIO = 1800, 1.0  # from this height on a flow is folded, to this width by height

Ends = Mapping[str, Sequence[str]]
Point = tuple[int, int]


class Edge(Struct, frozen=True):
    """A line from a step to another."""

    source: str
    target: str
    port: int | None
    """How far below the top of the source it begins, at the right; None: below it, if the target is straight below."""


class Layout(Struct, frozen=True):
    """The left upper corner of every step, and for each line its path, from its first point."""

    width: int
    height: int
    places: dict[str, Point]
    paths: list[tuple[Point, str]]


class _Spot(Struct, frozen=True):
    """A row of a part that the flow is folded into, and a column, counted through all parts."""

    part: int
    row: int
    column: int


_Track = tuple[str, int, int]
"""What lines run along: `across`, part and row, above this row; or `down` and a column, to the right of it."""


def laid_out(start: str, heights: Mapping[str, int], edges: Sequence[Edge]) -> Layout:
    """Lay out steps of these heights. Those to which nothing leads from the start stand below the others."""
    ends: dict[str, list[str]] = {name: [] for name in heights}
    for edge in edges:
        ends[edge.source].append(edge.target)
    spots = _spots(_rows(ends, start), ends, heights)
    tracks = [_tracks(edge, spots[edge.source], spots[edge.target]) for edge in edges]
    lanes = _lanes(edges, tracks, spots)
    many = {track: max(taken.values()) for track, taken in lanes.items()}

    x, y, bottoms = _MARGIN, _MARGIN + _gap(many, ("across", 0, 0)) * (("across", 0, 0) in many), dict[_Track, int]()
    lefts: list[int] = []
    for column in range(1 + max((spot.column for spot in spots.values()), default=0)):
        lefts.append(x)
        x += WIDE + _gap(many, ("down", column, 0))
    high: dict[_Track, int] = {}
    for name, spot in spots.items():
        track = ("across", spot.part, spot.row)
        high[track] = max(high.get(track, 0), heights[name])
    for track in sorted(high):
        _, part, row = track
        bottoms[track] = high[track] + (bottoms["across", part, row - 1] + _gap(many, track) if row else y)
    tops = {track: bottom - high[track] for track, bottom in bottoms.items()}
    places = {name: (lefts[spot.column], tops["across", spot.part, spot.row]) for name, spot in spots.items()}
    paths = []
    for edge, along in zip(edges, tracks, strict=True):
        left, top = places[edge.source]
        beside = (left + WIDE, top + (edge.port or heights[edge.source] // 2))
        points = [beside if along else (left + WIDE // 2, top + heights[edge.source])]
        for track in along:
            lane = _NEAR + _LANE * lanes[track][edge.target]
            across, down = points[-1]
            points.append(
                (across, tops[track] - lane) if track[0] == "across" else (lefts[track[1]] + WIDE + lane, down)
            )
        left, top = places[edge.target]
        points += [(left + WIDE // 2, points[-1][1]), (left + WIDE // 2, top)]
        paths.append((points[0], _path(points)))
    return Layout(x, max(bottoms.values(), default=0) + 2 * _MARGIN, places, paths)


def _gap(many: Mapping[_Track, int], track: _Track) -> int:
    return _GAP + _LANE * many.get(track, 0)


def _rows(ends: Ends, start: str) -> list[list[str]]:
    """The steps from the start down: each below those that lead to it, but for ways back."""
    rows: list[list[str]] = []
    left = dict.fromkeys(ends)
    while left:
        depths = _depths(ends, left, [start] if start in left else list(left))
        levels: list[list[str]] = [[] for _ in range(1 + max(depths.values()))]
        for name, depth in depths.items():
            levels[depth].append(name)
            del left[name]
        rows += levels
    return rows


def _depths(ends: Ends, names: Mapping[str, None], first: Sequence[str]) -> dict[str, int]:
    """How many steps lead to each step that can be reached, at most, without going round."""
    ended: dict[str, bool] = {}  # false while what it leads to is being visited
    order: list[str] = []
    back: set[tuple[str, str]] = set()
    for root in first:
        stack = [] if root in ended else [(root, iter(ends[root]))]
        ended.setdefault(root, False)
        while stack:
            name, following = stack[-1]
            if (end := next(following, None)) is None:
                ended[name] = True
                order.append(stack.pop()[0])
            elif end in names and end not in ended:
                ended[end] = False
                stack.append((end, iter(ends[end])))
            elif not ended.get(end, True):
                back.add((name, end))
    depths = dict.fromkeys(reversed(order), 0)
    for name in depths:
        for end in ends[name]:
            if end in depths and (name, end) not in back:
                depths[end] = max(depths[end], depths[name] + 1)
    return depths


def _spots(levels: Sequence[Sequence[str]], ends: Ends, heights: Mapping[str, int]) -> dict[str, _Spot]:
    """Each step below one that leads to it, where there is room."""
    before: dict[str, list[str]] = {name: [] for name in ends}
    for name, targets in ends.items():
        for end in targets:
            before[end].append(name)
    columns: dict[str, int] = {}
    rows: list[list[str]] = []
    for level in levels:
        heads = {name: [columns[source] for source in before[name] if source in columns] for name in level}
        wanted = {name: heads[name][-1] if heads[name] else 0 for name in level}
        ordered = sorted(level, key=lambda name: wanted[name])
        for row in (ordered[index : index + _ACROSS] for index in range(0, len(ordered), _ACROSS)):
            last = -1
            for index, name in enumerate(row):  # those behind it need room as well
                columns[name] = last = min(max(wanted[name], last + 1), _ACROSS - len(row) + index)
            rows.append(row)
    high = [max(heights[name] for name in row) + _GAP for row in rows]
    wide = (WIDE + _GAP) * (1 + max(columns.values(), default=0))
    parts = max(1, round(math.sqrt(_RATIO * sum(high) / wide))) if sum(high) > _LONG else 1
    spots: dict[str, _Spot] = {}
    used, part, number, first = 0, 0, 0, 0
    for row, height in zip(rows, high, strict=True):
        if used >= sum(high) / parts * (part + 1):
            part, number, first = part + 1, 0, 1 + max(spot.column for spot in spots.values())
        spots |= {name: _Spot(part, number, first + columns[name]) for name in row}
        used, number = used + height, number + 1
    return spots


def _tracks(edge: Edge, source: _Spot, target: _Spot) -> list[_Track]:
    """What a line runs along. The first rows of all parts have one height."""
    below = (target.part, target.row, target.column) == (source.part, source.row + 1, source.column)
    if below and edge.port is None:
        return []
    down: _Track = ("down", source.column, 0)
    if target.row == 0:
        return [down, ("across", 0, 0)]
    last: _Track = ("across", target.part, target.row)
    return [down, last] if source.part == target.part else [down, ("across", 0, 0), ("down", target.column, 0), last]


def _lanes(
    edges: Sequence[Edge], tracks: Sequence[Sequence[_Track]], spots: Mapping[str, _Spot]
) -> dict[_Track, dict[str, int]]:
    """For each track, the lane of the lines to each step. Short lines are next to the steps beside the track."""
    spans: dict[_Track, dict[str, tuple[int, int]]] = {}
    for edge, along in zip(edges, tracks, strict=True):
        source, target = spots[edge.source], spots[edge.target]
        turns = [2 * source.row + 1, *map(_turn, along), 2 * target.column]
        for index, track in enumerate(along):
            low, high = sorted((turns[index], turns[index + 2]))
            span = spans.setdefault(track, {}).get(edge.target, (low, high))
            spans[track][edge.target] = min(low, span[0]), max(high, span[1])
    return {track: _apart(ranges) for track, ranges in spans.items()}


def _turn(track: _Track) -> int:
    """Where lines turn into a track, in half rows or columns."""
    return 2 * track[2] if track[0] == "across" else 2 * track[1] + 1


def _apart(spans: dict[str, tuple[int, int]]) -> dict[str, int]:
    taken: list[list[tuple[int, int]]] = []
    lanes = {}
    last_first = dict(reversed(spans.items()))  # the last of equal ones begins lowest, and crosses none of the others
    for name, (low, high) in sorted(last_first.items(), key=lambda item: item[1][1] - item[1][0]):
        free = (lane for lane, others in enumerate(taken) if all(high < other[0] or other[1] < low for other in others))
        lanes[name] = lane = next(free, len(taken))
        taken += [[]] if lane == len(taken) else []
        taken[lane].append((low, high))
    return lanes


def _path(points: Sequence[Point]) -> str:
    """A line through points, with round corners."""
    kept = [point for point, after in pairwise(points) if point != after] + [points[-1]]
    return " ".join([f"M{kept[0][0]} {kept[0][1]}", *_corners(kept), f"L{kept[-1][0]} {kept[-1][1]}"])


def _corners(points: Sequence[Point]) -> Iterator[str]:
    for before, (x, y), after in zip(points, points[1:], points[2:], strict=False):
        (x1, y1), (x2, y2) = _near((x, y), before), _near((x, y), after)
        yield f"L{x1} {y1} Q{x} {y} {x2} {y2}"


def _near(corner: Point, end: Point) -> Point:
    """A point a little away from a corner, on the way to the end of a line."""
    across, down = end[0] - corner[0], end[1] - corner[1]
    far = min(_BEND, (abs(across) + abs(down)) // 2)
    return corner[0] + far * ((across > 0) - (across < 0)), corner[1] + far * ((down > 0) - (down < 0))
