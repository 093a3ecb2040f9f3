"""Entries are counted a second way, so that what is done to one before it is chained is found."""

import pytest

from leadwire.domain.accounts import changes as accounts
from leadwire.domain.accounts.audit import reads as audit_log
from leadwire.domain.accounts.audit.chain import INSTALLATION
from leadwire.domain.accounts.changes import workspaces
from leadwire.infrastructure import db
from tests import jobs
from tests.domain.accounts.audit.test_chain import chained, fault, noted, ten
from tests.statements import sent

__all__ = ["ten"]

SWALLOW = "CREATE FUNCTION tampered() RETURNS trigger LANGUAGE plpgsql AS $$ BEGIN {} END $$"
TRIGGERS = {
    "swallowed": ("RETURN NULL;", "BEFORE"),
    "deleted": ("DELETE FROM audit_entry WHERE id = NEW.id; RETURN NULL;", "AFTER"),
    "replaced": ("NEW.action := 'bot.look_changed'; RETURN NEW;", "BEFORE"),
    "not counted": ("NEW.detail := 'x'; NEW.in_count := false; RETURN NEW;", "BEFORE"),
}


@pytest.fixture(params=[*TRIGGERS, "rule"])
async def tampered(request, ten):
    """A workspace with an entry that somebody has tampered with as it was written."""
    if request.param == "rule":
        await db.rows("CREATE RULE tampered AS ON INSERT TO audit_entry WHERE NEW.detail = 'k' DO INSTEAD NOTHING")
    else:
        body, when = TRIGGERS[request.param]
        await db.rows(SWALLOW.format(body))
        await db.rows(
            f"CREATE TRIGGER tampered {when} INSERT ON audit_entry FOR EACH ROW WHEN (NEW.detail = 'k')"
            " EXECUTE FUNCTION tampered()"
        )
    try:
        await noted(ten, "k")
    finally:
        await db.rows("DROP RULE IF EXISTS tampered ON audit_entry")
        await db.rows("DROP TRIGGER IF EXISTS tampered ON audit_entry")
        await db.rows("DROP FUNCTION IF EXISTS tampered")
    return ten


GONE = "11 entries were written and counted, and 10 of these are here"
CHANGED = "an entry was changed or replaced before it was chained"


async def test_an_entry_that_is_swallowed_or_changed_as_it_is_written_is_found(tampered):
    said = await fault(tampered)
    assert said in (GONE, CHANGED)
    await chained()
    assert await fault(tampered) == said
    await noted(tampered, "later")
    await chained()
    assert await fault(tampered) == said.replace("11", "12").replace("10", "11")


@pytest.mark.parametrize(
    ("change", "said"),
    [
        ("DELETE FROM audit_entry", GONE),
        ("UPDATE audit_entry SET in_count = false", GONE),
        ("UPDATE audit_entry SET workspace_id = NULL", GONE),
        ("UPDATE audit_entry SET action = 'bot.look_changed'", CHANGED),
        ("UPDATE audit_entry SET actor = 'eve'", CHANGED),
        ("UPDATE audit_entry SET at = at - interval '1 ms'", CHANGED),
        ("UPDATE audit_entry SET id = 'aud_00000000000000000000000000'", CHANGED),
    ],
)
async def test_what_is_done_to_an_entry_before_it_is_chained_is_found(ten, change, said):
    await noted(ten, "k")
    await db.rows(f"{change} WHERE detail = 'k'")
    assert await fault(ten) == said
    await chained()
    assert await fault(ten) == said
    if "workspace_id" in change:
        assert "0 entries were written and counted, and 1" in await fault(INSTALLATION)


async def test_the_newest_entries_cannot_be_taken_with_the_seal_of_before(ten):
    seal = await db.value("SELECT sealed FROM audit_chain WHERE id = $1", ten)
    await noted(ten, "k", "l")
    await chained()
    await db.rows("DELETE FROM audit_entry WHERE number > 10")
    await db.rows("UPDATE audit_chain SET sealed = $2 WHERE id = $1", ten, seal)
    said = "12 entries were written and counted, and 10 of these are here"
    assert await fault(ten) == said
    await noted(ten, "m")  # which gets number 11
    await chained()
    assert await fault(ten) == said.replace("12", "13").replace("10", "11")


async def test_a_count_that_is_put_back_or_gone_is_found(ten):
    await noted(ten, "k")
    await db.rows("DELETE FROM audit_count WHERE entries = 1")
    assert await fault(ten) == "10 entries were written and counted, and 11 of these are here"


async def test_entries_of_a_version_before_are_not_counted(workspace):
    await noted(workspace, "a")
    await db.rows("""INSERT INTO audit_entry (id, workspace_id, at, actor, action, subject, detail, address)
        SELECT id || 'x', workspace_id, at, actor, action, subject, detail, address FROM audit_entry""")
    assert await fault(workspace) is None
    assert await chained() == 2
    assert await fault(workspace) is None


async def test_an_entry_is_one_statement_and_chaining_adds_its_count_up(workspace):
    with sent() as statements:
        await noted(workspace, "a")
    assert len(statements) == 1
    await noted(workspace, "b", "c")
    await chained()
    assert [tuple(row) for row in await db.rows("SELECT workspace_id, entries FROM audit_count")] == [(workspace, 3)]


async def test_what_is_not_kept_is_not_counted(workspace):
    other = await accounts.create_workspace("Other")
    async with db.transaction():
        back = await db.savepoint()
        await noted(workspace, "a")
        await back()
    await noted(other, "b")
    async with db.transaction():
        await workspaces.leave(other, "move", "")
    await jobs.run("audit.chain")
    for place in (workspace, other, INSTALLATION):
        assert await fault(place) is None
    assert (await audit_log.verify(other)).entries == 0
