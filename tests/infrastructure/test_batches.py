"""A batch that fails comes apart: whoever fails is alone, and every other item is done, once."""

import asyncpg
import pytest
from hypothesis import given
from hypothesis import strategies as st

from leadwire.infrastructure.batches import apart
from leadwire.infrastructure.db import OutcomeUnknown


class Work:
    """Takes effect for all that it is called with, or for none."""

    def __init__(self, culprits, error=ValueError):
        self.culprits, self.error = culprits, error
        self.done, self.calls = [], 0

    async def __call__(self, items):
        self.calls += 1
        if self.culprits.intersection(items):
            raise self.error("one of them")
        self.done += items


@given(st.lists(st.integers(0, 40), unique=True), st.sets(st.integers(0, 40)))
async def test_every_item_is_done_once_except_those_that_fail_alone(items, culprits):
    work = Work(culprits)
    failed = await apart(items, work)
    assert [item for item, _ in failed] == [item for item in items if item in culprits]
    assert all(isinstance(error, ValueError) for _, error in failed)
    assert work.done == [item for item in items if item not in culprits]


async def test_a_single_culprit_costs_two_calls_for_each_halving():
    work = Work({77})
    assert [item for item, _ in await apart(range(128), work)] == [77]
    assert work.calls == 1 + 2 * 7
    assert not await apart([], work)


@pytest.mark.parametrize(
    "error",
    [
        *(OutcomeUnknown, OSError, TimeoutError, asyncpg.DeadlockDetectedError, asyncpg.DiskFullError),
        *(asyncpg.InsufficientPrivilegeError, asyncpg.UndefinedColumnError),
    ],
)
async def test_a_server_that_is_away_is_the_fault_of_no_item(error):
    work = Work({1}, error)
    with pytest.raises(error):
        await apart([1, 2, 3, 4], work)
    assert (work.done, work.calls) == ([], 1)
