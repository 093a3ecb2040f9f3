"""A drawing of a step load: throughput and p99 over what was offered. SVG, by hand: no library is worth it for this."""

from collections.abc import Callable, Sequence
from math import log10
from typing import Final
from xml.sax.saxutils import escape

from ops.bench.delivery.steps import Step

_WIDE, _HIGH, _EDGE = 760, 380, 64
_BLUE, _RED, _GRAY = "#2563eb", "#dc2626", "#6b7280"
_SVG: Final = "http://www.w3.org/2000/svg"
_SLOWEST: Final = 10_000.0  # ms, where the scale of p99 ends
_FASTEST: Final = 1.0


def svg(found: Sequence[Step], title: str) -> str:
    """The drawing. Throughput on the left, linear; p99 on the right, in decades from 1 ms to 10 s."""
    most = max(max(one.offered, one.carried) for one in found) * 1.1
    across = _scale(0, most, _EDGE, _WIDE - _EDGE)
    up = _scale(0, most, _HIGH - _EDGE, _EDGE)
    parts = [
        f'<svg xmlns="{_SVG}" viewBox="0 0 {_WIDE} {_HIGH}" font-family="sans-serif" font-size="12">',
        f'<rect width="{_WIDE}" height="{_HIGH}" fill="white"/>',
        f'<text x="{_EDGE}" y="24" font-size="14">{escape(title)}</text>',
        *(_ticks(most, across, up)),
        *(_decade(power) for power in range(5)),
        _line([(across(0), up(0)), (across(most), up(most))], _GRAY, dots=False),
        _line([(across(one.offered), up(one.carried)) for one in found], _BLUE),
        _line([(across(one.offered), _late(one.p99 * 1000)) for one in found], _RED),
        f'<text x="{_EDGE}" y="{_EDGE - 12}" fill="{_BLUE}">delivered/s</text>',
        f'<text x="{_WIDE - _EDGE}" y="{_EDGE - 12}" fill="{_RED}" text-anchor="end">p99, commit to arrival</text>',
        f'<text x="{_WIDE / 2}" y="{_HIGH - 16}" text-anchor="middle">events offered per second</text>',
        "</svg>",
    ]
    return "\n".join(parts) + "\n"


def _scale(low: float, high: float, start: float, end: float) -> Callable[[float], float]:
    return lambda value: start + (value - low) / (high - low) * (end - start)


def _late(milliseconds: float) -> float:
    bounded = min(max(milliseconds, _FASTEST), _SLOWEST)
    return _scale(0, log10(_SLOWEST), _HIGH - _EDGE, _EDGE)(log10(bounded))


def _ticks(most: float, across: Callable[[float], float], up: Callable[[float], float]) -> list[str]:
    each = next(step for step in (50, 100, 200, 250, 500, 1000, 2000, 5000) if most / step <= 8)
    parts = []
    for value in range(0, int(most), each):
        parts.append(f'<text x="{across(value):.1f}" y="{_HIGH - _EDGE + 18}" text-anchor="middle">{value}</text>')
        parts.append(f'<text x="{_EDGE - 8}" y="{up(value) + 4:.1f}" text-anchor="end" fill="{_BLUE}">{value}</text>')
    return parts


def _decade(power: int) -> str:
    y, text = _late(10.0**power), f"{10**power} ms" if power < 3 else f"{10 ** (power - 3)} s"
    return (
        f'<path d="M{_EDGE} {y:.1f}H{_WIDE - _EDGE}" stroke="#e5e7eb"/>'
        f'<text x="{_WIDE - _EDGE + 8}" y="{y + 4:.1f}" fill="{_RED}">{text}</text>'
    )


def _line(points: Sequence[tuple[float, float]], color: str, *, dots: bool = True) -> str:
    path = "L".join(f"{x:.1f} {y:.1f}" for x, y in points)
    if not dots:
        return f'<path d="M{path}" stroke="{color}" stroke-dasharray="4 4"/>'
    marks = "".join(f'<circle cx="{x:.1f}" cy="{y:.1f}" r="3" fill="{color}"/>' for x, y in points)
    return f'<path d="M{path}" stroke="{color}" stroke-width="2" fill="none"/>{marks}'
