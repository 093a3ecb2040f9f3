"""A job or a request runs while its workspace is suspended, resumed or deleted: it ends, and nothing is left of who is
deleted.
"""

from itertools import product

import pytest

from leadwire.domain.workspaces import changes
from tests.bad_members.items import ITEMS
from tests.interleavings.workspaces import CHANGES, ENDS, Meeting, request_and_deletion

HELD = [
    *product(CHANGES, ["job"]),
    ("suspend", "change"),
    ("resume", "change"),
    pytest.param("delete", "change", marks=pytest.mark.large),  # which has many statements
]


@pytest.fixture
def quick(monkeypatch, set_mail):
    """A deletion looks often for what is being sent, and mail is kept."""
    monkeypatch.setattr(changes, "_LOOK", 0.01)
    set_mail("mailbox:")


@pytest.mark.usefixtures("planned_once", "quick")
@pytest.mark.parametrize(("change", "held"), HELD)
@pytest.mark.parametrize("kind", sorted(ITEMS))
async def test_a_job_and_a_change_of_its_workspace_leave_nothing_undone(kind, change, held, record_property):
    meeting = Meeting(kind, change)
    await meeting.begin()
    await meeting.run(job_first=held == "job")
    record_property("interleavings", [f"{kind}, {change}, {held}", 1, meeting.orders, 0, len(meeting.violations)])
    assert not meeting.violations, "\n".join(meeting.violations)


@pytest.mark.usefixtures("quick")
@pytest.mark.parametrize("end", ENDS)
async def test_a_request_that_has_a_row_when_its_workspace_is_deleted_ends_and_so_does_the_deletion(
    workspace_with_all, end, record_property
):
    workspace, tables = workspace_with_all
    tried = [await request_and_deletion(workspace, table, end) for table in tables]
    violations = [what for _, wrong in tried for what in wrong]
    row = [f"request, {end}", len(tried), sum(orders for orders, _ in tried), 0, len(violations)]
    record_property("interleavings", row)
    assert not violations, "\n".join(violations)
