"""Changes of accounts that meet: whoever waits for whom, each of them ends."""

from functools import partial
from typing import Final

import pytest

from leadwire.domain.accounts.audit import changes as audit
from leadwire.domain.accounts.changes import team
from leadwire.domain.accounts.sign_in.changes import password_reset
from leadwire.infrastructure import db
from tests.interleavings import kept
from tests.interleavings.accounts import OPERATIONS, People, meet
from tests.interleavings.workspaces import request_and

# What refers to people, and where.
_OF_PEOPLE: Final = """
SELECT conrelid::regclass::text AS table, attname AS column
FROM pg_constraint JOIN pg_attribute ON attrelid = conrelid AND attnum = conkey[1]
WHERE contype = 'f' AND confrelid = 'user_account'::regclass AND conparentid = 0 ORDER BY 1"""
# What refers to a person locks their row as the first does, and what changes it as the second.
_ENDS: Final = {"refers": "FOR KEY SHARE", "changes": "FOR NO KEY UPDATE"}


async def _removed(workspace: str, user_id: str) -> None:
    """As the form of the page Team does."""
    async with db.transaction():
        email = await team.remove_user(workspace, user_id)
        await audit.record(workspace, "eve@example.org", audit.Entry("user.removed", email))


async def _left(user_id: str) -> list[str]:
    return [f"{user_id} is left"] if await db.value("SELECT count(*) FROM user_account WHERE id = $1", user_id) else []


@pytest.mark.parametrize("end", _ENDS)
async def test_a_request_that_has_a_row_of_whom_somebody_removes_ends_and_so_does_the_removal(
    workspace_with_all, end, record_property
):
    workspace, _ = workspace_with_all
    await db.rows("UPDATE user_account SET role = 'agent', break_glass = false")
    user_id = await db.value("SELECT id FROM user_account")
    for row in await db.rows(_OF_PEOPLE):
        await db.rows(f"UPDATE {row['table']} SET {row['column']} = $1", user_id)
    await kept.keep()
    asked = partial(db.rows, f"SELECT 1 FROM user_account WHERE id = $1 {_ENDS[end]}", user_id)
    orders, violations = 0, list[str]()
    tables = [row["table"] for row in await db.rows(_OF_PEOPLE)]
    for table in tables:
        tried, wrong = await request_and(partial(_removed, workspace, user_id), table, asked, partial(_left, user_id))
        orders += tried
        violations += [f"{table}, {what}" for what in wrong]
    record_property("interleavings", [f"request, removal, {end}", len(tables), orders, 0, len(violations)])
    assert not violations, "\n".join(violations)


@pytest.mark.usefixtures("planned_once")
@pytest.mark.parametrize(
    "first", [pytest.param(name, marks=() if name == "remove" else pytest.mark.large) for name in OPERATIONS]
)
async def test_any_two_changes_of_people_end(first, set_mail, monkeypatch, record_property):
    set_mail("mailbox:")
    monkeypatch.setattr(password_reset, "_TAKES", 0.0)
    people, orders, violations = People(), 0, list[str]()
    await people.make()
    await kept.keep()
    for second in OPERATIONS:
        tried, wrong = await meet(people, (first, second))
        orders += tried
        violations += wrong
    record_property("interleavings", [f"people, {first}", len(OPERATIONS), orders, 0, len(violations)])
    assert not violations, "\n".join(violations)
