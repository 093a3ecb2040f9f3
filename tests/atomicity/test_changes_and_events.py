"""An event exists exactly if its change does, whatever breaks and wherever."""

import asyncio
import itertools

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from tests.atomicity import faults
from tests.atomicity.faults import Fault, injected
from tests.atomicity.history import assert_one_truth
from tests.atomicity.world import DEEDS, World

KINDS = ("error after", "killed before")
STEPS = st.tuples(
    st.sampled_from(sorted(DEEDS)),
    st.integers(0, 11),
    st.none() | st.builds(Fault, st.sampled_from(KINDS), st.integers(0, 10)),
)
STEPS_AT_ONCE = st.tuples(
    st.sampled_from(["is_patched"] * 6 + ["is_patched_once", "is_erased"]),
    st.integers(0, 11),
    st.none() | st.none() | st.builds(Fault, st.sampled_from(KINDS), st.integers(0, 10)),
)


@pytest.fixture
async def client(anonymous, monkeypatch):
    faults.install(monkeypatch)
    return anonymous


@pytest.mark.parametrize("kind", KINDS)
@pytest.mark.parametrize("deed", DEEDS)
async def test_each_deed_broken_at_each_word(client, deed, kind):
    world = await World.begin(client)
    for word in itertools.count():
        await world.prepare()
        before = await assert_one_truth(world)
        fired = await world.do(deed, 0, Fault(kind, word))
        after = await assert_one_truth(world)
        if not fired:  # the deed has fewer words, and was done in peace
            break
    assert word >= 1, "there is no deed without a statement"
    assert after > before


@given(st.lists(STEPS, min_size=1, max_size=15))
@settings(max_examples=60, suppress_health_check=[HealthCheck.function_scoped_fixture])
async def test_any_story_with_any_faults(client, steps):
    world = await World.begin(client)
    for deed, pick, fault in steps:
        await world.do(deed, pick, fault)
        await assert_one_truth(world)


@given(st.lists(STEPS_AT_ONCE, min_size=2, max_size=30))
@settings(max_examples=30, suppress_health_check=[HealthCheck.function_scoped_fixture])
async def test_changes_that_share_a_statement_with_any_faults(client, steps):
    """Some meet the same lead, some the same address, some a lead that is erased meanwhile, some a broken network."""
    world = await World.begin(client)
    for _ in range(4):
        await world.prepare()
    broken = []

    async def asked(deed, pick, fault):
        with injected(fault) as injection:
            status = await DEEDS[deed](world, pick)
            broken.append(injection.fired)
            return status

    statuses = await asyncio.gather(*[asked(*step) for step in steps])
    assert set(statuses) <= {200, 404, 409, *([503] if any(broken) else [])}
    await assert_one_truth(world)


@pytest.mark.parametrize("kind", KINDS)
@pytest.mark.parametrize(("method", "sent"), [("PATCH", {"json": {"name": "Grace"}}), ("DELETE", {})])
async def test_a_request_repeated_under_its_key_after_any_fault_is_done_once(client, method, sent, kind):
    world = await World.begin(client)
    for word in itertools.count():
        await world.prepare()
        before = await assert_one_truth(world)
        request = (method, await world.newest_lead(), {"Idempotency-Key": f"key {word}"})
        with injected(Fault(kind, word)) as injection:
            first = await world.request(*request, **sent)
        assert first == (503 if injection.fired else 200)
        assert await world.request(*request, **sent) == 200
        assert await assert_one_truth(world) == before + 1
        if not injection.fired:
            break
    assert word > 5
