"""What the checks of a flow see of a node of any kind, by its types alone."""

from collections.abc import Sequence

import pytest
from msgspec import Struct, convert

from leadwire.domain.bots.builder import fields
from leadwire.domain.bots.flow import check, graph
from leadwire.domain.bots.flow.nodes import KINDS, Condition, Node, NodeId, Text, When
from tests.interfaces.web.test_step_faults import FULL


class Turn(Struct, frozen=True):
    when: When
    goto: NodeId | None = None


class Coin(Node, frozen=True, tag="coin", kw_only=True):
    """A kind that no function of ours names."""

    hint: Text | None = None
    edge: NodeId | None = None
    turns: Sequence[Turn] = ()
    heads: NodeId


COIN = Coin(
    id="coin", hint="{{nothing}}", edge="rim", heads="first",
    turns=(Turn(When((Condition("nobody", "is_set"),)), "second"), Turn(When())),
)  # fmt: skip


def test_each_way_on_of_a_new_kind_is_followed():
    assert list(graph.targets(COIN)) == [("turns/0/goto", "second"), ("heads", "first"), ("edge", "rim")]


def test_the_texts_and_conditions_of_a_new_kind_are_checked():
    faults = [(code, *path) for code, _, *path in (*check._texts(COIN, {"x"}), *check._conditions(COIN, {"x"}))]
    assert faults == [
        ("unknown_variable", "hint"),
        ("condition", "turns", 0, "when", "all", 0, "var"),
        ("condition", "turns", 1, "when"),
    ]


@pytest.mark.parametrize("kind", KINDS)
def test_the_checks_and_the_builder_see_the_same_ways(kind):
    step = {"type": kind, "id": "this", **FULL[kind]}
    ways = {way: target for way, target in fields.ways(step).items() if target}
    assert dict(graph.targets(convert(step, KINDS[kind]))) == ways
