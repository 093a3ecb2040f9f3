"""An export makes the same workspace again: with its ids, without secrets, and whatever interrupts it."""

import json
import os
from collections import Counter
from datetime import timedelta
from pathlib import Path

import pytest

from leadwire.delivery.endpoints.table import WebhookEndpoint, opened
from leadwire.domain.accounts import changes as accounts
from leadwire.domain.accounts import reads
from leadwire.domain.accounts.audit import reads as audit_log
from leadwire.domain.accounts.changes import workspaces
from leadwire.domain.accounts.domains import changes as domain_changes
from leadwire.domain.accounts.domains import reads as domains
from leadwire.domain.bots import changes as bots
from leadwire.domain.bots.visitors import runtime
from leadwire.domain.mail import changes as mail
from leadwire.domain.privacy import erasure
from leadwire.domain.webhooks import changes as webhooks
from leadwire.domain.webhooks.schema import EndpointChange
from leadwire.domain.workspaces import changes, export, import_file
from leadwire.infrastructure import clock, db
from leadwire.infrastructure.errors import Conflict, Invalid, OperatorError
from tests import jobs, make
from tests.delivery.wired import endpoint
from tests.domain.bots.conftest import Visitor, published
from tests.interfaces.web.conftest import signed_in

COUNTS = """
SELECT (SELECT count(*) FROM workspace), (SELECT count(*) FROM lead), (SELECT count(*) FROM event WHERE body <> '')"""


@pytest.fixture
async def exported(workspace, wire, receiver, tmp_path, monkeypatch):
    """An export of a workspace that was deleted afterwards."""
    monkeypatch.setattr(import_file, "_PAGE", 2)
    async with signed_in(workspace, "admin", "ada@example.org"):
        pass
    bot = (await published(workspace)).id
    await bots.add_faq_entry(workspace, bot, "Open?", "Yes.")
    made = await endpoint(workspace, receiver.url)
    await webhooks.configure(workspace, made.id, EndpointChange(numbered=True, auto_redrive=True))
    user = await db.value("SELECT id FROM user_account")
    for _ in range(3):
        lead = await make.somebody(workspace, bot)
        await db.rows(
            "INSERT INTO consent (id, workspace_id, conversation_id, lead_id, bot_id, flow_version, node, text, answer,"
            " given, user_id, created_at) VALUES ($1, $2, $3, $4, $5, 1, 'n', 't', 'a', true, $6, now())",
            f"cons_{lead.id}", workspace, lead.conversation_id, lead.id, bot, user,
        )  # fmt: skip
    await wire.turn()
    await make.somebody(workspace, bot)  # whose events are still to be sent
    await mail.suppress(workspace, "gone@example.org", "550 5.1.1 unknown")
    await export.write(workspace, path := tmp_path / "export.ndjson")
    await changes.delete(workspace)
    return path


def read(path):
    return [json.loads(line) for line in path.read_text().splitlines()]


def ids(path):
    """What an import keeps: of these kinds every row, in the order of the file."""
    kept = {"workspace", "user", "bot", "lead", "conversation", "consent", "endpoint", "event"}
    return [(line["kind"], line["data"]["id"]) for line in read(path) if line["kind"] in kept]


async def test_it_has_the_same_rows(exported, workspace, tmp_path):
    imported, rows = await import_file.read(exported)
    assert (imported, rows) == (workspace, Counter(line["kind"] for line in read(exported)))
    await export.write(workspace, again := tmp_path / "again.ndjson")
    assert ids(again) == ids(exported)
    for kind in ("user", "bot", "bot_version", "faq_entry", "lead", "consent", "conversation", "mail_suppression"):
        before, after = ([line for line in read(path) if line["kind"] == kind] for path in (exported, again))
        assert after == before != [], kind
    before, after = ([line["data"] for line in read(path) if line["kind"] == "event"] for path in (exported, again))
    assert [(one["body"], one["subject"]) for one in after] == [(one["body"], one["subject"]) for one in before]
    assert [(one.id, one.state) for one in await reads.workspace_list()] == [(workspace, "active")]


async def test_what_an_export_does_not_have_is_made_anew(exported, workspace):
    before = {line["data"]["id"]: line["data"] for line in read(exported) if line["kind"] == "event"}
    states = [sent["state"] for event in before.values() for sent in event["deliveries"]]
    assert {"delivered", "queued"} == set(states)
    await import_file.read(exported)
    (found,) = await db.rows(
        "SELECT secret, id, enabled, numbered, auto_redrive_since < now(), queued FROM webhook_endpoint"
    )
    assert opened(found["id"], WebhookEndpoint.secret, found["secret"]).startswith("whsec_")
    assert tuple(found)[2:] == (False, True, True, 0)
    assert await reads.listed() == []
    after = {
        row["state"]: row["count"] for row in await db.rows("SELECT state, count(*) FROM delivery_result GROUP BY 1")
    }
    assert after == {"delivered": states.count("delivered"), "cancelled": states.count("queued")}
    assert await db.value("SELECT count(*) FROM delivery") == 0
    assert await db.value("SELECT count(*) FROM faq_entry WHERE search @@ to_tsquery('english', 'open')") == 1


async def test_no_file_makes_an_operator_or_gives_a_password(exported):
    told = exported.read_bytes()
    assert b"operator" not in told.partition(b'"kind":"audit_entry"')[0]
    more = b'"email":"ada@example.org","operator":true,"password_hash":"$argon2id$x"'
    exported.write_bytes(told.replace(b'"email":"ada@example.org"', more, 1))
    await import_file.read(exported)
    (ada,) = await db.rows("SELECT email, operator, password_hash FROM user_account")
    assert tuple(ada) == ("ada@example.org", False, None)


@pytest.mark.parametrize(("url", "new"), [("https://somebody.example/hook", True), ("http://127.0.0.1/hook", False)])
async def test_no_file_says_that_a_strangers_host_has_answered(exported, url, new):
    lines = read(exported)
    (data,) = (line["data"] for line in lines if line["kind"] == "endpoint")
    data |= {"url": url, "new_host": not new}
    exported.write_text("".join(json.dumps(line, separators=(",", ":")) + "\n" for line in lines))
    await import_file.read(exported)
    assert await db.value("SELECT new_host FROM webhook_endpoint") is new


async def test_what_had_gone_elsewhere_is_here_with_the_quotas_of_this_installation(exported, workspace):
    first, _, others = exported.read_bytes().partition(b"\n")
    line = json.loads(first)
    line["data"] |= {"move_id": "move_x", "moved_to": "https://elsewhere.example", "quotas": {"bots": "many"}}
    exported.write_bytes(json.dumps(line).encode() + b"\n" + others)
    await import_file.read(exported)
    assert [one.state for one in await reads.workspace_list()] == ["active"]
    assert await db.value("SELECT quotas::text FROM workspace") == "{}"
    await changes.delete(workspace)
    assert await reads.workspace_list() == []


async def test_no_file_proves_a_domain(workspace, tmp_path, resolver):
    """Who wrote it may have taken the record of somebody else: the one to publish is another."""
    await make.domain(workspace, proven=True)
    (before,) = await domains.listed(workspace)
    await export.write(workspace, path := tmp_path / "export.ndjson")
    await changes.delete(workspace)
    assert before.code.encode() in path.read_bytes()
    await import_file.read(path)
    (after,) = await domains.listed(workspace)
    assert (after.name, after.state(clock.now()), after.checked_at) == (before.name, "unproven", None)
    assert after.code != before.code
    resolver.texts[before.name] = [before.record]
    assert (await domain_changes.check(workspace, after.id, "x")).fault == "other_value"


@pytest.mark.parametrize("meanwhile", ["imported", "deleted"])
async def test_what_happened_to_it_meanwhile_stays(exported, workspace, meanwhile):
    """Whoever began it has lost the terminal, and runs it again, or deletes the workspace; the first one goes on."""
    with exported.open("rb") as file:
        await import_file._begin(exported, file)
        if meanwhile == "imported":
            await import_file.read(exported)
            await erasure.erase_lead(workspace, await db.value("SELECT min(id) FROM lead"))
        else:
            await changes.delete(workspace)
        before = await db.rows(COUNTS)
        file.seek(0)
        with pytest.raises(Conflict, match="deleted meanwhile"):
            await import_file._go_on(file, workspace)
    assert await db.rows(COUNTS) == before


async def test_a_deletion_ends_an_import(exported, workspace):
    with exported.open("rb") as file:
        await import_file._begin(exported, file)
        await workspaces.begin_deletion(workspace)
        file.seek(0)
        with pytest.raises(Conflict, match="deleted meanwhile"):
            await import_file._go_on(file, workspace)
    await changes.delete(workspace)
    assert await reads.workspace_list() == []


@pytest.mark.parametrize(("kind", "field"), [
    ("faq_entry", "bot_id"), ("bot_version", "bot_id"), ("lead", "bot_id"), ("conversation", "id"),
    ("conversation", "assigned_to"), ("consent", "lead_id"), ("event", "id"), ("event", "endpoint_id"),
])  # fmt: skip
async def test_no_file_reaches_into_another_workspace(exported, receiver, kind, field):
    other = await accounts.create_workspace("Other")
    bot = await bots.create(other, "Theirs")
    lead, theirs = await make.lead(other, bot), await endpoint(other, receiver.url)
    event = await db.value("SELECT id FROM event LIMIT 1")
    names = {
        "bot_id": bot, "lead_id": lead.id, "conversation": lead.conversation_id, "event": event,
        "endpoint_id": theirs.id, "assigned_to": await make.user(other),
    }  # fmt: skip
    lines = read(exported)
    data = next(line["data"] for line in lines if line["kind"] == kind and line["data"].get("deliveries", True))
    (data["deliveries"][0] if field == "endpoint_id" else data)[field] = named = names[kind if field == "id" else field]
    exported.write_text("".join(json.dumps(line, separators=(",", ":")) + "\n" for line in lines))
    with pytest.raises(Invalid, match=f"names {named}, which is another workspace's"):
        await import_file.read(exported)


@pytest.mark.parametrize(
    "line",
    [
        b"[]", b'{"kind": [], "data": {}}', b'{"kind": "lead", "data": "x"}', b'{"kind": "lead", "data": [1]}',
        b'{"kind": "conversation", "data": {"id": "conv_1", "messages": 1}}', b'{"kind": "lead", "data": {"id": 1}}',
        b'{"kind": "conversation", "data": {"id": "conv_1", "messages": [1], "assignments": [], "notes": []}}',
        b'{"kind": "lead", "data": ' + b"[" * 100_000, b'{"kind": "lead", "data": {"id": "lead_1", "name": "\\u0000"}}',
    ],
)  # fmt: skip
async def test_a_line_of_another_form_is_refused(exported, line):
    first, *others = exported.read_bytes().splitlines(keepends=True)
    exported.write_bytes(b"".join([first, line + b"\n", *others]))
    with pytest.raises(Invalid, match="none of an export"):
        await import_file.read(exported)


@pytest.mark.parametrize(
    ("kind", "field", "wrong"),
    [
        ("event", "id", "evt_x"), ("event", "id", "evt_7zzzzzzzzzzzzzzzzzzzzzzzzz"), ("event", "id", "zzz"),
        ("workspace", "id", "installation"), ("workspace", "created_at", "0001-01-01 BC"),
        ("bot", "created_at", "infinity"),
    ],
)  # fmt: skip
async def test_what_all_workspaces_would_suffer_from_is_refused(exported, kind, field, wrong):
    """Days are made and dropped by the ids of events, and pages of all workspaces read their times."""
    right = next(line["data"][field] for line in read(exported) if line["kind"] == kind)
    exported.write_bytes(exported.read_bytes().replace(right.encode(), wrong.encode()))
    with pytest.raises(Invalid, match="none of an export"):
        await import_file.read(exported)


async def test_it_goes_on_wherever_it_was_interrupted(exported, workspace, tmp_path):
    whole = exported.read_bytes().splitlines(keepends=True)
    kinds = [json.loads(line)["kind"] for line in whole]
    for kind in ("user", "bot", "endpoint", "lead", "conversation", "consent", "event", "end"):
        broken = [*whole]
        broken[kinds.index(kind)] = b'{"kind":\n'
        (tmp_path / "broken.ndjson").write_bytes(b"".join([*broken, whole[-1]]))
        with pytest.raises(Invalid, match="none of an export"):
            await import_file.read(tmp_path / "broken.ndjson")
        if kind != "user":
            assert [one.state for one in await reads.workspace_list()] == ["being deleted"]
            with pytest.raises(Conflict):
                await changes.resume(workspace)
        await import_file.read(exported)
        await export.write(workspace, again := tmp_path / f"{kind}.ndjson")
        assert ids(again) == ids(exported)
        await changes.delete(workspace)


@pytest.mark.parametrize("verified", [True, False])
async def test_people_have_the_login_that_has_verified_their_address_here(exported, workspace, verified):
    await db.rows(
        "INSERT INTO user_account (id, workspace_id, email, role, created_at)"
        " VALUES ('user_x', $1, 'ADA@example.org', 'agent', now())",
        await accounts.create_workspace("Other"),
    )
    await db.rows("UPDATE login SET verified_at = CASE WHEN $1 THEN now() END", verified)
    await import_file.read(exported)
    sql = "SELECT id, login_id FROM user_account WHERE workspace_id = $1 AND email_address = 'ada@example.org'"
    user_id, login_id = await db.row(sql, workspace)
    assert login_id == ("user_x" if verified else user_id)


async def test_what_cannot_be_imported_is_refused_before_anything_is_written(exported, workspace, tmp_path):
    (tmp_path / "cut.ndjson").write_bytes(exported.read_bytes().rpartition(b'{"kind":"end"')[0])
    os.write((ends := os.pipe())[1], b"{}")
    for path, error, said in (
        (tmp_path / "cut.ndjson", Invalid, "no whole export"),
        (tmp_path / "nowhere", OperatorError, "No such file"),
        (Path(f"/dev/fd/{ends[0]}"), OperatorError, "it is no file"),
    ):
        with pytest.raises(error, match=said):
            await import_file.read(path)
    for end in ends:
        os.close(end)
    assert await reads.workspace_list() == []
    await import_file.read(exported)
    with pytest.raises(Conflict, match=f"a workspace {workspace} already"):
        await import_file.read(exported)
    await workspaces.begin_deletion(workspace)
    with pytest.raises(Conflict, match=f"a workspace {workspace} already"):
        await import_file.read(exported)


async def test_its_audit_log_is_chained_anew(exported, workspace):
    await import_file.read(exported)
    await jobs.run("audit.chain")
    assert (await audit_log.verify(workspace)).fault is None
    entries = [entry.action async for entry in audit_log.entries(workspace)]
    told = [line["data"]["action"] for line in read(exported) if line["kind"] == "audit_entry"]
    assert sorted(entries) == sorted([*told, "workspace.import_began", "workspace.imported"])


async def test_conversations_that_were_open_end_by_silence(workspace, tmp_path, db_clock):
    """Their visitors cannot come back: no export has their tokens."""
    bot = await published(workspace)
    asked, waits = Visitor(bot), Visitor(bot)
    for visitor in (asked, waits):
        await visitor.says("ada@example.com")
    await runtime.hand_off(await waits.visit())
    await export.write(workspace, path := tmp_path / "export.ndjson")
    await changes.delete(workspace)
    await import_file.read(path)

    passed = timedelta()

    async def ended_after(**more):
        nonlocal passed
        passed += timedelta(**more)
        await db_clock.forward(timedelta(**more).total_seconds())
        with clock.at(clock.now() + passed):
            await jobs.run("silence", early=True)
        rows = await db.rows(
            "SELECT id FROM conversation WHERE status = 'ended' AND end_reason = 'silence' ORDER BY id"
        )
        return [row["id"] for row in rows]

    assert await ended_after(minutes=29) == []
    assert await ended_after(minutes=2) == [asked.conversation]
    assert await ended_after(hours=24) == [asked.conversation, waits.conversation]
