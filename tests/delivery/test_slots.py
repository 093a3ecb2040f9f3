"""The slots of a worker: a few endpoints cannot fill them, and some are kept for endpoints that have nothing there."""

from collections import Counter

from hypothesis import given
from hypothesis import strategies as st

from leadwire.delivery.worker.slots import SLOW_AFTER, SLOW_FACTOR, Pace, Slots

_SHARE, _FIRST = 8, 8
_STEPS = st.lists(
    st.one_of(
        st.tuples(st.just("take"), st.integers(0, 5)),
        st.tuples(st.sampled_from(["slow_down", "delivered", "late", "failed", "hung"]), st.integers(0, 1000)),
    ),
    max_size=200,
)


class Endpoint:
    """What the model knows of one."""

    def __init__(self):
        self.most, self.slow, self.failing = _FIRST, False, False


@given(st.integers(1, 12), _STEPS)
def test_an_endpoint_has_what_its_lane_and_its_outcomes_allow_and_no_slot_is_lost(fast, steps):
    """A model that counts by itself says when an endpoint may have another slot, and in which lane."""
    slots, held, known = Slots(fast), [], {f"we_{n}": Endpoint() for n in range(6)}
    for step, chosen in steps:
        if step == "take":
            name = f"we_{chosen}"
            about, mine = known[name], [one for one in held if one.endpoint_id == name]
            slow = about.slow or any(one.slow for one in mine)
            slow_free = fast * SLOW_FACTOR - sum(one.slow for one in held)
            fast_free = fast - sum(not one.slow for one in held)
            limit = slow_free / _SHARE if slow else fast_free - (fast // 4 if mine or about.failing else 0)
            allowed = sum(one.slow is slow for one in mine) < limit and len(mine) < about.most
            assert slots.rank(name) == (about.failing, len(mine))
            slot = slots.take(name)
            assert (slot is not None) == allowed
            if slot is not None:
                assert slot.slow is slow
                held.append(slot)
        elif held:
            slot = held[chosen % len(held)]
            about = known[slot.endpoint_id]
            if step == "slow_down":
                free = fast * SLOW_FACTOR - sum(one.slow for one in held)
                was_slow, about.slow = slot.slow, True
                assert slots.slow_down(slot) is slot.slow is (was_slow or free > 0)
            else:
                held.remove(slot)
                slots.leave(slot)
                about.slow, about.failing = step in {"late", "hung"}, step in {"failed", "hung"}
                slots.note(slot.endpoint_id, SLOW_AFTER if about.slow else 0.0, delivered=not about.failing)
                if about.failing:
                    about.most = max(_FIRST if about.slow else 1, about.most // 2)
                else:
                    about.most = min(about.most + 1, fast)
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
def test_however_many_endpoints_take_all_they_can_one_that_has_nothing_there_finds_a_place(fast, greedy):
    slots = Slots(fast)
    for endpoint in range(greedy):
        slots.note(f"we_{endpoint}", 0.0, delivered=False)
        while slots.take(f"we_{endpoint}"):
            pass
    assert slots.free >= fast // 4
    assert slots.take("we_new") is not None


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
    slow = [slots.take(f"we_{n}") for n in range(2)]
    for n in range(2 * SLOW_FACTOR):
        assert slots.slow_down(slow[-1])
        slow.append(slots.take(f"we_more_{n}"))
    assert not slots.slow_down(slow[-1])
    assert slots.free == 0
    slots.leave(slow[1])
    assert slots.slow_down(slow[-1])
    assert slots.free == 1


def test_a_pace_is_kept_and_what_was_not_used_is_no_debt_of_time():
    pace = Pace(rate=100, burst=8)
    assert pace.free(1000.0) == 8
    pace.take(8)
    assert pace.free(1000.0) == 0
    assert pace.free(1000.055) == 5
    pace.take(5)
    assert pace.free(1000.057) == 0
    assert pace.free(2000.0) == 8
