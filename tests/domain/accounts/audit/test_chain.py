"""The chain of an audit log: in the order of commits, and whatever is done to it by SQL is found."""

import asyncio
import base64
import hashlib
import json

import pytest
from msgspec import structs

from leadwire.delivery.envelope import KINDS
from leadwire.domain.accounts import changes as accounts
from leadwire.domain.accounts.audit import chain as audit_chain
from leadwire.domain.accounts.audit import changes as audit
from leadwire.domain.accounts.audit import jobs as audit_jobs
from leadwire.domain.accounts.audit import reads as audit_log
from leadwire.domain.accounts.audit.chain import INSTALLATION
from leadwire.domain.accounts.table import AuditChain
from leadwire.infrastructure import clock, db, ids, secret_box, settings
from leadwire.infrastructure.jobs.reads import listed
from leadwire.infrastructure.secret_box import SecretBox
from tests import jobs, make
from tests.delivery.interleaved import apart
from tests.delivery.wired import endpoint


async def noted(workspace: str | None, *details: str) -> None:
    for detail in details:
        async with db.transaction():
            await audit.record(workspace, "ada@example.org", audit.Entry("thing.done", "bot_1", detail), "192.0.2.0/24")


async def fault(workspace: str) -> str | None:
    return (await audit_log.verify(workspace)).fault


async def details(workspace: str) -> list[str]:
    return [entry.detail async for entry in audit_log.entries(workspace)]


async def chained() -> int:
    """Chain what waits. Return how many entries that were."""
    count = "SELECT count(*) FROM audit_entry WHERE number IS NOT NULL"
    before = await db.value(count)
    await jobs.run("audit.chain")
    return await db.value(count) - before


@pytest.fixture
def dropped(monkeypatch):
    """Drop what is older than so many days. Return how many entries that were."""

    async def drop(days: int) -> int:
        chosen = structs.replace(settings.get(), audit_retention_days=days)
        before = await db.value("SELECT count(*) FROM audit_entry")
        with monkeypatch.context() as patched:
            patched.setattr(settings, "get", lambda: chosen)
            await jobs.run("audit.drop")
        return before - await db.value("SELECT count(*) FROM audit_entry")

    return drop


@pytest.fixture
async def ten(workspace: str) -> str:
    """A workspace with ten chained entries."""
    await noted(workspace, *"abcdefghij")
    assert await chained() == 10
    return workspace


async def test_entries_are_chained_for_each_workspace_and_the_installation(workspace, monkeypatch):
    other = await accounts.create_workspace("Other")
    for detail in "abc":
        for place in (workspace, other, None):
            await noted(place, detail)
    monkeypatch.setattr(audit_jobs, "BATCH", 4)
    await chained()
    for place in (workspace, other, INSTALLATION):
        found = await audit_log.verify(place)
        assert (found.entries, found.first, found.last, found.waiting, found.fault) == (3, 1, 3, 0, None)
        assert await details(place) == ["a", "b", "c"]


async def test_what_commits_later_comes_later_whatever_its_id(workspace):
    async with db.transaction():
        await audit.record(workspace, "ada@example.org", audit.Entry("thing.done", detail="slow"))
        await apart(noted(workspace, "quick"))
        assert await apart(chained()) == 1
    assert (await audit_log.verify(workspace)).waiting == 1
    assert await chained() == 1
    assert await details(workspace) == ["quick", "slow"]
    assert await fault(workspace) is None


async def test_several_relays_at_once_chain_each_entry_once(workspace, monkeypatch):
    await noted(workspace, *map(str, range(40)))
    monkeypatch.setattr(audit_jobs, "BATCH", 3)
    while await db.value("SELECT count(*) FROM audit_entry WHERE number IS NULL"):
        await asyncio.gather(*(apart(jobs.run("audit.chain")) for _ in range(4)))
    assert await details(workspace) == [str(number) for number in range(40)]
    assert await fault(workspace) is None


async def test_whoever_has_an_export_can_compute_it_again(ten):
    before = bytes(32)
    async for line in audit_log.ndjson(ten):
        entry = json.loads(line)
        assert entry["workspace_id"] == ten
        text, _, rest = line.rpartition(b',"hash":"')
        before = hashlib.sha256(before + text + b"}").digest()
        assert rest == f'{before.hex()}"}}\n'.encode()


@pytest.mark.parametrize(
    ("column", "value"),
    [
        ("actor", "'eve'"),
        ("action", "'thing.undone'"),
        ("subject", "'bot_2'"),
        ("detail", "'x'"),
        ("address", "''"),
        ("at", "at - interval '1 ms'"),
        ("id", "'aud_00000000000000000000000000'"),
        ("hash", "sha256('x')"),
        ("workspace_id", "NULL"),
    ],
)
async def test_a_changed_entry_is_found(ten, column, value):
    await db.rows(f"UPDATE audit_entry SET {column} = {value} WHERE number = 4")
    said = await fault(ten)
    assert said.startswith("entry 4 is missing" if column == "workspace_id" else "entry 4 (aud_")


@pytest.mark.parametrize(
    ("which", "said"),
    [
        ("number = 1", "entry 1 is missing"),
        ("number = 5", "entry 5 is missing"),
        ("number IN (5, 6)", "the entries from 5 to 6 are missing"),
        ("number = 10", "entry 10 is missing"),
        ("true", "the entries from 1 to 10 are missing"),
    ],
)
async def test_a_removed_entry_is_found(ten, which, said):
    await db.rows(f"DELETE FROM audit_entry WHERE {which}")
    assert await fault(ten) == said
    await noted(ten, "later")  # the chain goes on, and the gap stays visible
    assert await chained() == 1
    assert await fault(ten) == said


PUT_IN = """INSERT INTO audit_entry (id, workspace_id, at, actor, action, subject, detail, address, number, hash)
SELECT 'aud_7zzzzzzzzzzzzzzzzzzzzzzzzz', workspace_id, at, actor, action, subject, 'forged', address, $1, hash
FROM audit_entry WHERE number = 3"""


@pytest.mark.parametrize(
    ("number", "said"),
    [(11, "was put in: the chain ends with 10"), (4, "is there twice"), (0, "was dropped long ago"), (-5, "long ago")],
)
async def test_an_entry_that_was_put_in_is_found(ten, number, said):
    await db.rows("DROP INDEX audit_entry_number")
    try:
        await db.rows(PUT_IN, number)
        assert said in await fault(ten)
    finally:
        await db.rows("DELETE FROM audit_entry WHERE detail = 'forged'")
        await db.rows(
            "CREATE UNIQUE INDEX audit_entry_number ON audit_entry (coalesce(workspace_id, 'installation'), number)"
            " WHERE number IS NOT NULL"
        )


async def test_a_forged_entry_at_the_end_does_not_stop_the_chain(ten):
    await db.rows(PUT_IN, 11)
    await noted(ten, "later")
    assert await chained() == 1
    assert (await fault(ten)).startswith("entry 11 (aud_7zz")


@pytest.mark.parametrize("with_hash", [False, True])
async def test_reordered_entries_are_found(ten, with_hash):
    third, seventh = await db.rows("SELECT id, hash FROM audit_entry WHERE number IN (3, 7) ORDER BY number")
    await db.rows("UPDATE audit_entry SET number = -1 WHERE id = $1", third["id"])
    await db.rows("UPDATE audit_entry SET number = 3 WHERE id = $1", seventh["id"])
    await db.rows("UPDATE audit_entry SET number = 7 WHERE id = $1", third["id"])
    if with_hash:
        for one, other in ((third, seventh), (seventh, third)):
            await db.rows("UPDATE audit_entry SET hash = $2 WHERE id = $1", one["id"], other["hash"])
    assert (await fault(ten)).startswith("entry 3 (")


async def test_a_log_written_anew_with_right_hashes_is_found_by_its_seal(ten):
    await db.rows("UPDATE audit_entry SET detail = 'nothing' WHERE number = 2")
    before = audit_chain.ORIGIN
    for row in await db.rows("SELECT * FROM audit_entry ORDER BY number"):
        before = audit_chain.digest(before, audit_chain.line(row, row["number"]))
        await db.rows("UPDATE audit_entry SET hash = $2 WHERE id = $1", row["id"], before)
    assert await fault(ten) == "entry 10 is not the one that was sealed: the log was written anew"
    await noted(ten, "later")
    assert await chained() == 1
    assert (await fault(ten)).startswith("entry 11 (")


async def test_a_seal_that_is_not_ours_is_found_and_the_other_chains_go_on(ten, caplog):
    other = await accounts.create_workspace("Other")
    await noted(other, "a")
    assert await chained() == 1
    of_other = await db.value("SELECT sealed FROM audit_chain WHERE id = $1", other)
    await db.rows("UPDATE audit_chain SET sealed = $2 WHERE id = $1", ten, of_other)
    assert "its seal was changed" in await fault(ten)
    await noted(ten, "here")
    await noted(other, "there")
    assert await chained() == 1
    assert await details(other) == ["a", "there"]
    assert (await audit_log.verify(ten)).waiting == 1
    assert await chained() == 0
    assert "its seal" not in caplog.text
    (job,) = await listed("audit.chain")
    assert (job.key, job.tries) == (ten, 1)
    assert "OperatorError: LEADWIRE_SECRET_KEY does not open" in job.error


@pytest.mark.parametrize("anew", [False, True])
async def test_a_seal_that_is_gone_is_found(ten, anew):
    await db.rows("DELETE FROM audit_chain")
    if anew:
        await noted(ten, "later")
        assert await chained() == 1
    assert (await fault(ten)).startswith("entry 11 (" if anew else "entry 1 (")


async def test_another_key_cannot_seal_and_reseal_keeps_the_chain(ten, monkeypatch):
    old, new = "AAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAA=", base64.b64encode(b"x" * 32).decode()
    monkeypatch.setattr(secret_box, "get", lambda: SecretBox((new,)))
    assert "LEADWIRE_SECRET_KEY" in await fault(ten)
    assert await secret_box.reseal(SecretBox((new, old)), AuditChain.sealed) == 1
    assert await fault(ten) is None


async def test_retention_drops_the_oldest_and_the_rest_is_still_verified(workspace, dropped, monkeypatch):
    monkeypatch.setattr(audit_jobs, "BATCH", 3)
    await noted(workspace, *"abcde")
    await chained()
    assert await dropped(1) == 0
    assert await dropped(-1) == 5
    await noted(workspace, *"fg")
    await chained()
    found = await audit_log.verify(workspace)
    assert (found.first, found.last, found.entries, found.fault) == (6, 7, 2, None)
    assert await details(workspace) == ["f", "g"]
    await db.rows("DELETE FROM audit_entry WHERE number = 6")
    assert await fault(workspace) == "entry 6 is missing"


async def test_a_chain_of_which_all_was_dropped_goes_on(ten, dropped):
    assert await dropped(-1) == 10
    assert await dropped(-1) == 0
    assert await fault(ten) is None
    await noted(ten, "next")
    assert await chained() == 1
    found = await audit_log.verify(ten)
    assert (found.first, found.last, found.fault) == (11, 11, None)


async def test_what_is_not_chained_for_long_is_said(workspace):
    with clock.at(clock.ago(minutes=5)):
        await noted(workspace, "a")
    found = await audit_log.verify(workspace)
    assert (found.waiting, found.overdue, found.fault) == (1, True, None)


async def test_an_endpoint_that_names_it_gets_each_entry_once_it_is_chained(workspace, wire, receiver):
    await endpoint(workspace, receiver.url, "audit.recorded")
    await noted(workspace, *"abc")
    await noted(None, "of the installation")
    assert await wire.turn() == []
    assert await chained() == 4
    await wire.turn()
    bodies = sorted((json.loads(one.body) for one in receiver.deliveries), key=lambda body: body["data"]["number"])
    exported = [json.loads(line) async for line in audit_log.ndjson(workspace)]
    assert [body["data"] for body in bodies] == exported
    assert {body["event"] for body in bodies} == {"audit.recorded"}
    assert len(bodies) == 3


async def test_nobody_else_gets_it_and_deliveries_make_no_entries(workspace, bot, wire, receiver):
    await endpoint(workspace, receiver.url, *KINDS)
    await noted(workspace, "a")
    await chained()
    assert await make.kinds() == []
    await make.somebody(workspace, bot)
    count = await db.value("SELECT count(*) FROM audit_entry")
    await wire.turn()
    assert await db.value("SELECT count(*) FROM audit_entry") == count


async def test_what_is_old_is_dropped_by_itself_and_the_rest_stays(workspace, dropped, monkeypatch):
    past = clock.ago(days=2)
    with monkeypatch.context() as patched:
        patched.setattr(ids, "new", lambda kind: ids.floor(kind, past))
        await noted(workspace, "old")
    await noted(workspace, "new")
    assert await chained() == 2
    assert await dropped(1) == 1
    assert await details(workspace) == ["new"]
    assert await fault(workspace) is None


async def test_an_entry_that_fails_holds_up_its_own_chain_only(workspace, monkeypatch):
    other = await accounts.create_workspace("Other")
    await noted(workspace, "a", "b")
    await noted(other, "c")

    def failing(row, number):
        if row["workspace_id"] == workspace:
            raise KeyError(number)
        return audit_chain.line(row, number)

    with monkeypatch.context() as patched:
        patched.setattr(audit_jobs, "line", failing)
        assert await chained() == 1
        await noted(other, "d")
        assert await chained() == 1
    assert await details(other) == ["c", "d"]
    await jobs.make_due("audit.chain")
    assert await chained() == 2
    assert await details(workspace) == ["a", "b"]


async def test_a_version_that_locks_all_chains_and_a_job_wait_for_each_other(workspace):
    await noted(workspace, "a")
    async with db.transaction():
        await db.rows("SELECT pg_advisory_xact_lock(7225)")
        assert await apart(chained()) == 0
    await jobs.make_due("audit.chain")
    assert await chained() == 1


async def test_entries_of_one_workspace_wait_for_nobody(workspace):
    async with db.transaction():
        await audit.record(workspace, "ada@example.org", audit.Entry("thing.done", detail="slow"))
        await apart(noted(workspace, "quick"))
