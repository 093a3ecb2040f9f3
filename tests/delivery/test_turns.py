"""Whose turn it is: an endpoint that has little to do waits for no other, and none waits for ever."""

from collections import Counter

import pytest
from hypothesis import given
from hypothesis import strategies as st

from leadwire.delivery.streams import Entry, Key
from leadwire.delivery.worker.slots import Slots
from leadwire.delivery.worker.turns import USUAL, WHEN_BEHIND, Turns


def entry(endpoint: str, number: int) -> Entry:
    return Entry(b"stream", f"{number}-0".encode(), Key(f"evt_{number}", endpoint, 0))


def add(turns: Turns, endpoint: str, count: int, start: int = 0) -> list[Entry]:
    entries = [entry(endpoint, start + number) for number in range(count)]
    for one in entries:
        assert turns.add(one) is one
    return entries


def taken(turns: Turns, most: int) -> list[str]:
    return [one.key.endpoint_id for one, _ in turns.take(USUAL._replace(entries=most, failing=most))]


def test_a_quiet_endpoint_comes_before_all_that_others_have():
    turns = Turns(Slots(64))
    for number in range(20):
        add(turns, f"we_{number:02}", 100)
    assert sorted(taken(turns, 20)) == [f"we_{number:02}" for number in range(20)], "one each"
    add(turns, "we_quiet", 1)
    assert taken(turns, 10)[0] == "we_quiet"


def test_those_that_fail_come_after_those_that_do_not():
    slots = Slots(64)
    turns = Turns(slots)
    add(turns, "we_bad", 10)
    add(turns, "we_good", 10)
    slots.note("we_bad", 0.0, delivered=False)
    assert taken(turns, 10) == 8 * ["we_good"] + 2 * ["we_bad"]
    assert [one.key.endpoint_id for one, _ in turns.take(WHEN_BEHIND, 1)] == ["we_bad"], "while the worker is behind"


@pytest.mark.parametrize("paced", [0, -3])
def test_nothing_begins_for_those_that_fail_while_their_rate_is_used_up(paced):
    slots = Slots(64)
    turns = Turns(slots)
    add(turns, "we_bad", 10)
    slots.note("we_bad", 0.0, delivered=False)
    assert turns.take(USUAL, paced) == []


def test_a_backlog_gets_no_more_at_a_time_while_the_cpu_is_short():
    turns = Turns(Slots(512))
    add(turns, "we_backlog", 100)
    rounds = [len(turns.take(WHEN_BEHIND)) for _ in range(3)]
    assert rounds == [8, 0, 0]
    add(turns, "we_quiet", 1)
    assert [one.key.endpoint_id for one, _ in turns.take(WHEN_BEHIND)] == ["we_quiet"]


@given(st.dictionaries(st.sampled_from("abcdef"), st.integers(1, 30)), st.lists(st.integers(1, 9), max_size=30))
def test_each_entry_is_taken_once_in_the_order_of_its_endpoint_and_turns_are_fair(counts, sizes):
    slots = Slots(1000)
    turns = Turns(slots)
    expected = {name: add(turns, name, count) for name, count in counts.items()}
    found: dict[str, list[Entry]] = {name: [] for name in counts}
    for size in [*sizes, *[1] * 200]:
        for one, slot in turns.take(USUAL._replace(entries=size, failing=size)):
            found[one.key.endpoint_id].append(one)
            slots.leave(slot)
        had = Counter({name: len(entries) for name, entries in found.items()})
        waiting = [name for name in counts if turns.count(name)]
        assert len(turns) == sum(counts.values()) - had.total()
        if size == 1 and waiting:
            assert max(had[name] for name in waiting) - min(had[name] for name in waiting) <= 1 + sum(sizes)
    assert found == expected


@given(st.dictionaries(st.integers(0, 50), st.integers(1, 40), min_size=1))
def test_what_is_too_much_goes_from_those_that_have_the_most(counts):
    turns = Turns(Slots(8), most=100)
    for name, count in counts.items():
        add(turns, f"we_{name}", count)
    share = 100 // len(counts)
    evicted = turns.evict()
    assert len(turns) + len(evicted) == sum(counts.values())
    assert len(turns) <= 100
    assert bool(evicted) == (sum(counts.values()) > 100)
    for name, count in counts.items():
        assert turns.count(f"we_{name}") >= min(count, share // 2)


def test_a_second_entry_of_a_delivery_is_not_added():
    turns = Turns(Slots(8))
    (first,) = add(turns, "we_a", 1)
    assert turns.add(first._replace(id=b"9-0")) is first
    assert len(turns) == 1
    assert list(turns) == turns.clear() == [first]
    assert len(turns) == 0
