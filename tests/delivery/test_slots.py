"""The slots of a worker: a few endpoints cannot fill them, and some are kept for quick deliveries."""

from collections import Counter

from hypothesis import given
from hypothesis import strategies as st

from leadwire.delivery.worker.slots import SLOW_FACTOR, Slots

_SHARE = 8
_STEPS = st.lists(
    st.one_of(
        st.tuples(st.sampled_from(["take", "take quick"]), st.integers(0, 5)),
        st.tuples(st.sampled_from(["slow_down", "leave"]), st.integers(0, 1000)),
    ),
    max_size=200,
)


@given(st.integers(1, 12), _STEPS)
def test_an_endpoint_has_what_its_lane_allows_and_no_place_is_lost(fast, steps):
    """A model that counts by itself says when an endpoint may have another slot, and in which lane."""
    slots, held = Slots(fast), []
    for step, chosen in steps:
        slow_free = fast * SLOW_FACTOR - sum(one.slow for one in held)
        if step.startswith("take"):
            name, quick = f"we_{chosen}", step == "take quick"
            slow = any(one.slow and one.endpoint_id == name for one in held)
            fast_free = fast - sum(not one.slow for one in held)
            limit = slow_free / _SHARE if slow else fast_free - (0 if quick else fast // 4)
            mine = sum(one.endpoint_id == name and one.slow is slow for one in held)
            slot = slots.take(name, quick=quick)
            assert (slot is not None) == (mine < limit)
            if slot is not None:
                assert slot.slow is slow
                held.append(slot)
        elif held:
            slot = held[chosen % len(held)]
            if step == "slow_down":
                was_slow = slot.slow
                assert slots.slow_down(slot) is slot.slow is (was_slow or slow_free > 0)
            else:
                held.remove(slot)
                slots.leave(slot)
        assert slots.free == fast - sum(not one.slow for one in held) >= 0
        counted = Counter(one.endpoint_id for one in held)
        assert {name: slots.taken(name) for name in counted} == counted
    for slot in held:
        slots.leave(slot)
    assert slots.free == fast
    assert not slots._fast.taken
    assert not slots._slow.taken
    assert slots._slow.free == fast * SLOW_FACTOR


@given(st.integers(4, 200), st.integers(1, 300))
def test_however_many_endpoints_take_all_they_can_a_quick_delivery_finds_a_place(fast, greedy):
    slots = Slots(fast)
    for endpoint in range(greedy):
        while slots.take(f"we_{endpoint}"):
            pass
    assert slots.free >= fast // 4
    assert slots.take("we_new", quick=True) is not None


def test_an_endpoint_whose_posts_are_slow_begins_the_next_in_the_slow_lane():
    slots = Slots(8)
    first = slots.take("we_slow")
    assert first is not None
    assert slots.slow_down(first)
    assert slots.free == 8
    rest = [slot for _ in range(8) if (slot := slots.take("we_slow"))]
    assert [slot.slow for slot in rest] == [True, True, True], "one of eight that are free"
    assert slots.free == 8, "none of them is in the others' way"
    slots.slow_down(first)  # twice is once
    assert slots.taken("we_slow") == 4


def test_a_slow_post_keeps_its_fast_place_while_the_slow_lane_is_full():
    slots = Slots(2)
    slow = [slots.take(f"we_{n}", quick=True) for n in range(2)]
    for n in range(2 * SLOW_FACTOR):
        assert slots.slow_down(slow[-1])
        slow.append(slots.take(f"we_more_{n}", quick=True))
    assert not slots.slow_down(slow[-1])
    assert slots.free == 0
    slots.leave(slow[1])
    assert slots.slow_down(slow[-1])
    assert slots.free == 1
