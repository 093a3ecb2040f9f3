"""Heads that are kept outside of the database show that all of it was put back."""

import base64
import json

import pytest
from msgspec import structs

from leadwire.domain.accounts.audit import heads
from leadwire.domain.accounts.audit import jobs as audit_jobs
from leadwire.domain.accounts.audit import reads as audit_log
from leadwire.domain.accounts.audit.chain import INSTALLATION
from leadwire.domain.workspaces import changes as workspaces
from leadwire.infrastructure import clock, db, secret_box, settings, telemetry
from leadwire.infrastructure.jobs.reads import listed
from leadwire.infrastructure.secret_box import SecretBox
from tests import jobs
from tests.domain.accounts.audit.test_chain import chained, noted, ten

__all__ = ["ten"]

OURS = ("audit_entry", "audit_chain", "audit_count")
OLD, NEW = "AAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAA=", base64.b64encode(b"x" * 32).decode()


@pytest.fixture
def lines(monkeypatch):
    """The lines of the log that tell heads."""
    told = []
    log = telemetry.log

    def kept(event, **fields):
        log(event, **fields)
        if event == "audit.head":
            told.append(json.dumps({"event": event, **fields}) + "\n")

    monkeypatch.setattr(telemetry, "log", kept)
    return told


async def chained_and_told() -> None:
    await chained()
    await jobs.run("audit.head")


async def fault(workspace: str, lines: list[str]) -> str | None:
    told, others = heads.read(lines, secret_box.get())
    assert not others
    return (await audit_log.verify(workspace, {head for head in told if head.chain == workspace})).fault


async def test_a_database_that_is_put_back_is_found_by_a_head_of_later(ten, lines):
    await chained_and_told()
    before = {table: await db.rows(f"SELECT * FROM {table}") for table in OURS}
    await noted(ten, "k", "l")
    await chained_and_told()
    assert await fault(ten, lines) is None

    for table in OURS:  # all that PostgreSQL has of it
        await db.rows(f"DELETE FROM {table}")
        for row in before[table]:
            places = ", ".join(f"${place}" for place in range(1, len(row) + 1))
            await db.rows(f"INSERT INTO {table} ({', '.join(row.keys())}) VALUES ({places})", *row.values())

    assert await fault(ten, lines[:1]) is None
    assert await fault(ten, []) is None
    assert (await fault(ten, lines)).startswith("entry 12 is gone, or not that of the head of ")
    await noted(ten, "m", "n", "o")  # whose number is 12 now
    await chained_and_told()
    assert await fault(ten, lines[2:]) is None
    assert (await fault(ten, lines)).startswith("entry 12 is gone, or not that of the head of ")


async def test_a_head_is_told_once_until_its_chain_goes_on(ten, lines):
    await noted(None, "x")
    await chained_and_told()
    await jobs.run("audit.head")
    assert len(lines) == 2
    told, others = heads.read(lines, secret_box.get())
    assert ({(head.chain, head.number) for head in told}, others) == ({(ten, 10), (INSTALLATION, 1)}, 0)
    await noted(ten, "k")
    await chained_and_told()
    assert len(lines) == 3


async def test_a_chain_that_goes_on_while_it_is_told_is_told_again(ten, lines, monkeypatch):
    async def grows(_):
        monkeypatch.undo()
        await noted(ten, "k")
        await chained()

    await chained()
    monkeypatch.setattr(heads, "send", grows)
    await jobs.run("audit.head")
    assert await db.value("SELECT head_due FROM audit_chain")
    assert len(lines) == 1


async def test_it_is_sent_to_the_operator_and_again_until_it_is_taken(ten, receiver, monkeypatch):
    chosen = structs.replace(settings.get(), audit_head_url=receiver.url)
    monkeypatch.setattr(settings, "get", lambda: chosen)
    receiver.answer = 503
    await chained_and_told()
    (job,) = await listed("audit.head")
    assert (job.tries, "LEADWIRE_AUDIT_HEAD_URL answered 503" in job.error) == (1, True)
    receiver.answer = 204
    await jobs.make_due("audit.head")
    await jobs.run("audit.head")
    body = receiver.deliveries[-1].body.decode()
    told, _ = heads.read(body.splitlines(), secret_box.get())
    assert [(head.chain, head.number) for head in told] == [(ten, 10)]
    assert not await db.value("SELECT head_due FROM audit_chain")


async def test_it_is_not_sent_to_an_address_that_is_not_allowed(ten, receiver, monkeypatch):
    chosen = structs.replace(settings.get(), audit_head_url=receiver.url, allowed_networks=())
    monkeypatch.setattr(settings, "get", lambda: chosen)
    await chained_and_told()
    assert not receiver.deliveries
    (job,) = await listed("audit.head")
    assert "cannot be used" in job.error


def test_a_head_is_signed_and_an_older_key_still_reads_it(monkeypatch):
    monkeypatch.setattr(secret_box, "get", lambda: SecretBox((OLD,)))
    line = heads.signed(audit_jobs.Seal("ws_1", last=7, last_hash=b"h" * 32))
    assert heads.read([f"before {line} behind"], SecretBox((NEW, OLD)))[1] == 0
    assert heads.read([line], SecretBox((NEW,))) == (set(), 1)
    for forged in (line.replace("ws_1", "ws_2"), line.replace(",7,", ",8,"), line.replace("6868", "6869", 1)):
        assert heads.read([forged], SecretBox((OLD,))) == (set(), 1)
    (head,), _ = heads.read([line, line], SecretBox((OLD,)))
    assert (head.chain, head.number, head.hash) == ("ws_1", 7, (b"h" * 32).hex())


async def test_what_retention_has_dropped_is_compared_no_more(ten, lines, monkeypatch):
    await chained_and_told()
    with monkeypatch.context() as patched, clock.at(clock.ago(days=-2)):
        chosen = structs.replace(settings.get(), audit_retention_days=-1)
        patched.setattr(settings, "get", lambda: chosen)
        await jobs.run("audit.drop")
    assert await fault(ten, lines) is None  # the seal has the hash of the last one
    await noted(ten, "k")
    await chained()
    assert await fault(ten, lines) is None
    await db.rows("DELETE FROM audit_entry")
    assert await fault(ten, lines) == "entry 11 is missing"


async def test_a_workspace_that_was_deleted_is_said_to_have_ended(ten, lines):
    await chained_and_told()
    await workspaces.delete(ten)
    told, _ = heads.read(lines, secret_box.get())
    ended = await audit_log.ended({ten})
    assert list(ended) == [ten]
    assert all(head.at < ended[ten] for head in told)
    await db.rows("UPDATE audit_entry SET in_count = false")  # as what somebody puts in
    assert await audit_log.ended({ten}) == {}
