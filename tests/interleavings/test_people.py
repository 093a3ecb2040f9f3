"""Changes of a person, shared statements among them, while the person is erased, copied or exported."""

import pytest

from tests.atomicity.world import World
from tests.interleavings.people import OTHERS, People, meet


@pytest.mark.parametrize("first", OTHERS, ids=lambda deed: deed.__name__)
async def test_every_two_deeds_leave_one_truth_and_nothing_of_who_is_erased(
    planned_once, anonymous, first, record_property
):
    people = await People.begin(await World.begin(anonymous))
    tried = [await meet(people, first, second) for second in OTHERS[first]]
    violations = [what for _, wrong in tried for what in wrong]
    row = [first.__name__, len(tried), sum(orders for orders, _ in tried), 0, len(violations)]
    record_property("interleavings", row)
    assert not violations, "\n".join(violations)
