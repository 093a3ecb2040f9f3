"""The drawing of a step load is well-formed and shows every step where it belongs."""

from xml.etree import ElementTree as ET

from ops.bench.delivery.plot import svg
from ops.bench.delivery.steps import Step

SVG = "{http://www.w3.org/2000/svg}"


def step(offered: float, carried: float, p99: float) -> Step:
    return Step(offered, carried, p99 / 2, p99, p99 * 2, {}, 0, 0)


def test_a_step_is_too_much_when_a_tenth_of_it_is_not_carried():
    assert not step(1000, 950, 0.1).saturated
    assert step(1000, 850, 0.1).saturated


def test_every_step_has_a_point_for_what_was_delivered_and_one_for_how_late():
    drawn = ET.fromstring(svg([step(100, 100, 0.01), step(1000, 990, 0.1), step(2000, 1400, 30.0)], "A <test>"))
    points = [(float(dot.get("cx", "")), float(dot.get("cy", ""))) for dot in drawn.iter(f"{SVG}circle")]
    delivered, late = points[:3], points[3:]
    assert [x for x, _ in delivered] == sorted(x for x, _ in late)
    assert [y for _, y in delivered] == sorted((y for _, y in delivered), reverse=True)  # up is less
    assert [y for _, y in late] == sorted((y for _, y in late), reverse=True)
    assert all(0 < x < 760 and 0 < y < 380 for x, y in points)  # 30 s is off the scale, and at its end
    assert "A <test>" in "".join(drawn.itertext())
