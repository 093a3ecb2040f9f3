"""Two things that are done to one delivery at once: whatever the order of their statements, it comes to one end.

The race of a replay with a record is among them: without the statement `unfinished` of `delivery/redrive_job.sql`, the
start `claimed` fails for `record_success, replay`, as the delivery is in two places.
"""

import pytest

from tests.interleavings.starts import STARTS

SOME = "held numbered erased delivered redriven aside discarding orphaned expired before".split()
"""Starts that are always tried; the others take minutes."""


@pytest.mark.parametrize(
    "start", [pytest.param(name, marks=[] if name in SOME else pytest.mark.large) for name in STARTS]
)
async def test_every_two_operations_leave_one_delivery_that_ends(meeting, start, record_property):
    matrix = await meeting(start)
    await matrix.run()
    record_property("interleavings", [start, len(matrix.pairs), matrix.orders, matrix.ends, len(matrix.violations)])
    assert not matrix.violations, "\n".join(map(str, matrix.violations))
