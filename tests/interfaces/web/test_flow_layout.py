"""The picture of a flow: no step lies on another, no line runs over a step, however the flow branches."""

import random
import re
from itertools import pairwise

import pytest

from leadwire.domain.bots.flow import library
from leadwire.domain.bots.flow.parse import read
from leadwire.interfaces.web.flow_layout import WIDE
from leadwire.interfaces.web.flow_picture import picture


def drawn_at_random(number):
    """A flow with ways back, steps to which nothing leads, and questions with many answers."""
    chance = random.Random(number)
    names = [f"step-{place}" for place in range(number)]
    return {
        "start": names[0],
        "nodes": [
            {
                "type": "ask", "id": name, "text": "What do you need? " * chance.randrange(4),
                "options": [{"label": "x" * 40, "next": chance.choice(names)} for _ in "1234"[chance.randrange(5) :]],
                "next": names[min(place + chance.choice((1, 1, 1, 3, -2)), number - 1)],
            }
            for place, name in enumerate(names)
        ],
    }  # fmt: skip


FLOWS = [
    *(read(library.text(name)) for name in library.NAMES),
    *(drawn_at_random(number) for number in (1, 9, 60, 300)),
]


@pytest.mark.parametrize("draft", FLOWS, ids=lambda draft: len(draft["nodes"]))
def test_nothing_lies_on_a_step(draft):
    drawn = picture(draft)
    assert len(drawn.boxes) == len(draft["nodes"])
    lines = [way.line for box in drawn.boxes for way in box.ways if way.line]
    for box in drawn.boxes:
        assert 0 < box.x < box.x + WIDE < drawn.width
        assert 0 < box.y < box.y + box.height < drawn.height
        for other in drawn.boxes:
            apart = abs(box.x - other.x) >= WIDE or box.y + box.height <= other.y or other.y + other.height <= box.y
            assert apart or box is other
    for line in lines:
        points = [(int(x), int(y)) for x, y in re.findall(r"(-?\d+) (-?\d+)", line)]
        for (x1, y1), (x2, y2) in pairwise(points):
            for box in drawn.boxes:
                beside = max(x1, x2) <= box.x or min(x1, x2) >= box.x + WIDE
                assert beside or max(y1, y2) <= box.y or min(y1, y2) >= box.y + box.height, (line, box.id)


def test_a_short_flow_is_one_column_from_the_start_down():
    nodes = [{"type": "say", "id": f"say-{n}", "text": "Hello", "next": f"say-{n + 1}"} for n in range(8)]
    boxes = picture({"start": "say-0", "nodes": nodes[::-1]}).boxes
    assert len({box.x for box in boxes}) == 1
    assert [box.id for box in sorted(boxes, key=lambda box: box.y)] == [node["id"] for node in nodes]


def test_a_long_flow_is_about_as_wide_as_high():
    nodes = [{"type": "say", "id": f"say-{n}", "text": "Hello", "next": f"say-{n + 1}"} for n in range(300)]
    drawn = picture({"start": "say-0", "nodes": nodes})
    assert 0.5 < drawn.width / drawn.height < 2
