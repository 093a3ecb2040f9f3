"""The judge of the chaos harness on order and numbers, also of what is sent again."""

import pytest
from ops.chaos.matched import Made
from ops.chaos.order import misnumbered, overtaken
from ops.chaos.records import Ended

from tests.chaos.test_verdict import EVENTS, post


def sent(*runs: str) -> list[Made]:
    """POSTs about a lead in this order: `2b` is of its second change, in the second generation."""
    found = []
    for place, run in enumerate(runs):
        number, generation = int(run[0]), "abc".index(run[1]) + 1
        made = post(EVENTS[0], place, endpoint="ordered", number=number, event_id=f"evt_{number}")
        found.append(Made(made, None, generation))
    return found


@pytest.mark.parametrize(
    ("runs", "wrong"),
    [
        (["1a", "2a", "3a"], 0),
        (["1a", "1a", "2a"], 0),  # a retry
        (["2a", "1a"], 1),
        (["1a", "2a", "1a"], 1),  # it did not wait for the retry
        (["1a", "2a", "1b", "2b", "3a"], 0),  # sent again
        (["1a", "2a", "1b", "2a"], 0),  # what comes before the retry was sent again meanwhile
        (["1b", "2a", "1b"], 1),
        (["2b", "1b"], 0),  # each was sent again when the other had ended
        (["2b", "1b", "2b"], 0),
    ],
)
def test_what_comes_later_does_not_overtake_what_is_not_finished(runs, wrong):
    assert len(overtaken(sent(*runs))) == wrong


def test_the_order_of_one_lead_is_none_of_another_or_of_another_endpoint():
    first, second = sent("2a", "1a")
    other = second.post
    assert overtaken([first, Made(post(EVENTS[0], 9, endpoint="ordered", subject="lead_b", number=1), None, 1)]) == []
    assert overtaken([first, second._replace(post=post(EVENTS[0], 9, endpoint="relayed", number=other.number))]) == []


def test_a_number_may_be_missing_where_its_delivery_was_canceled():
    posts = [post(EVENTS[0], sequence=1), post(EVENTS[1], sequence=3)]
    assert misnumbered(posts, []) == 1
    canceled = Ended("healthy", "evt_9", "cancelled", 1, 110.0, 2)
    assert misnumbered(posts, [canceled]) == 0


def test_the_database_has_each_number_once_without_a_gap():
    def numbered(*numbers: int) -> list[Ended]:
        return [Ended("healthy", f"evt_{n}", "delivered", 1, 1.0, number) for n, number in enumerate(numbers)]

    assert misnumbered([], numbered(1, 2, 3)) == 0
    assert misnumbered([], numbered(1, 3)) == 1
    assert misnumbered([], numbered(1, 1, 2)) == 1
    told_another = [post(EVENTS[1], endpoint="healthy", event_id="evt_0", sequence=2)]
    assert misnumbered(told_another, numbered(1, 2)) == 2, "one has two numbers, and one number is of two"
