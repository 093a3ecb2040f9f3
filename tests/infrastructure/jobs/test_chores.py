"""Chores, as they are declared: each runs, and none is missing."""

import pytest

from leadwire.infrastructure import db
from leadwire.infrastructure.jobs.kinds import KINDS
from leadwire.processes.background import find_kinds
from tests import jobs

DELETING = {
    "bot_count.delete", "bulk_change.delete", "export_job.delete", "idempotent_answer.delete", "mail.delete",
    "password_reset.delete", "redrive_job.delete", "session.delete", "sign_on_used.delete",
}  # fmt: skip


def test_what_is_old_is_deleted_once_an_hour():
    find_kinds()
    assert {name for name, kind in KINDS.items() if name.endswith(".delete") and kind.every == 3600} >= DELETING


@pytest.mark.usefixtures("database")
async def test_every_chore_of_deleting_runs():
    await jobs.run(*DELETING)
    rows = await db.rows("SELECT kind, tries, error, due_at > now() + interval '59 minutes' FROM job")
    assert {tuple(row) for row in rows} == {(name, 0, None, True) for name in DELETING}
