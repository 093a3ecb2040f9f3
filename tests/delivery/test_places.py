"""The places of a worker: a few endpoints cannot fill them, and some are kept for quick deliveries."""

from collections import Counter

from hypothesis import given
from hypothesis import strategies as st

from leadwire.delivery.worker.places import SLOW_FACTOR, Places

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
    """A model that counts by itself says when an endpoint may have another place, and in which lane."""
    places, held = Places(fast), []
    for step, chosen in steps:
        slow_free = fast * SLOW_FACTOR - sum(one.slow for one in held)
        if step.startswith("take"):
            name, quick = f"we_{chosen}", step == "take quick"
            slow = any(one.slow and one.endpoint_id == name for one in held)
            fast_free = fast - sum(not one.slow for one in held)
            limit = slow_free / _SHARE if slow else fast_free - (0 if quick else fast // 4)
            mine = sum(one.endpoint_id == name and one.slow is slow for one in held)
            place = places.take(name, quick=quick)
            assert (place is not None) == (mine < limit)
            if place is not None:
                assert place.slow is slow
                held.append(place)
        elif held:
            place = held[chosen % len(held)]
            if step == "slow_down":
                was_slow = place.slow
                assert places.slow_down(place) is place.slow is (was_slow or slow_free > 0)
            else:
                held.remove(place)
                places.leave(place)
        assert places.free == fast - sum(not one.slow for one in held) >= 0
        counted = Counter(one.endpoint_id for one in held)
        assert {name: places.taken(name) for name in counted} == counted
    for place in held:
        places.leave(place)
    assert places.free == fast
    assert not places._fast.taken
    assert not places._slow.taken
    assert places._slow.free == fast * SLOW_FACTOR


@given(st.integers(4, 200), st.integers(1, 300))
def test_however_many_endpoints_take_all_they_can_a_quick_delivery_finds_a_place(fast, greedy):
    places = Places(fast)
    for endpoint in range(greedy):
        while places.take(f"we_{endpoint}"):
            pass
    assert places.free >= fast // 4
    assert places.take("we_new", quick=True) is not None


def test_an_endpoint_whose_posts_are_slow_begins_the_next_in_the_slow_lane():
    places = Places(8)
    first = places.take("we_slow")
    assert first is not None
    assert places.slow_down(first)
    assert places.free == 8
    rest = [place for _ in range(8) if (place := places.take("we_slow"))]
    assert [place.slow for place in rest] == [True, True, True], "one of eight that are free"
    assert places.free == 8, "none of them is in the others' way"
    places.slow_down(first)  # twice is once
    assert places.taken("we_slow") == 4


def test_a_slow_post_keeps_its_fast_place_while_the_slow_lane_is_full():
    places = Places(2)
    slow = [places.take(f"we_{n}", quick=True) for n in range(2)]
    for n in range(2 * SLOW_FACTOR):
        assert places.slow_down(slow[-1])
        slow.append(places.take(f"we_more_{n}", quick=True))
    assert not places.slow_down(slow[-1])
    assert places.free == 0
    places.leave(slow[1])
    assert places.slow_down(slow[-1])
    assert places.free == 1
