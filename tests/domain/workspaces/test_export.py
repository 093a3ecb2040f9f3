"""An export has every row that is a workspace's, no secret and nobody else's data."""

import json
import re
import stat
from collections import Counter

import pytest

from leadwire.domain.accounts import changes as accounts
from leadwire.domain.bots import changes as bots
from leadwire.domain.conversations.changes import inbox
from leadwire.domain.workspaces import export
from leadwire.infrastructure import db
from leadwire.infrastructure.errors import OperatorError
from tests import make
from tests.delivery.wired import endpoint
from tests.domain.bots.conftest import published
from tests.interfaces.web.conftest import PASSWORD, signed_in


@pytest.fixture
async def full(workspace, wire, receiver, monkeypatch):
    """A workspace with something of most kinds, beside another one, read two rows at a time."""
    monkeypatch.setattr(export, "_PAGE", 2)
    secrets = []
    for place in (workspace, await accounts.create_workspace("Other")):
        async with signed_in(place, "admin", f"{place}@example.org"):
            pass
        bot = (await published(place)).id
        await bots.add_faq_entry(place, bot, "Open?", "Yes.")
        secrets += [(await endpoint(place, receiver.url)).secret, (await accounts.create_key(place, "CRM"))[1]]
        user = await db.value("SELECT id FROM user_account WHERE workspace_id = $1", place)
        await inbox.add_reply(place, "Hello", "Good day")
        for _ in range(5):
            lead = await make.somebody(place, bot)
        await inbox.note(place, lead.conversation_id, user, "Call back")
    await wire.turn()
    return workspace, secrets


def read(path):
    return [json.loads(line) for line in path.read_text().splitlines()]


async def test_every_row_of_a_workspace_is_there_and_none_of_another(full, tmp_path):
    workspace, secrets = full
    await export.write(workspace, path := tmp_path / "export.ndjson")
    found = read(path)
    kinds = Counter(line["kind"] for line in found)
    for kind in export.kinds():
        table = kind.table._meta.tablename
        mine = "id" if table == "workspace" else "workspace_id"
        assert kinds[kind.name] == await db.value(f"SELECT count(*) FROM {table} WHERE {mine} = $1", workspace), table
    assert list(dict.fromkeys(line["kind"] for line in found))[-1] == found[-1]["kind"] == "end"
    conversations = [line["data"] for line in found if line["kind"] == "conversation"]
    assert [[said["content"] for said in one["messages"]] for one in conversations] == [["Hello"]] * 5
    assert [note["content"] for one in conversations for note in one["notes"]] == ["Call back"]
    events = [line["data"] for line in found if line["kind"] == "event"]
    captured = [one for one in events if one["kind"] == "lead.created"]
    assert [one["body"]["data"]["id"] for one in captured] == [
        line["data"]["id"] for line in found if line["kind"] == "lead"
    ]
    assert [[sent["state"] for sent in one["deliveries"]] for one in captured] == [["delivered"]] * 5
    assert [[made["http_status"] for made in one["attempts"]] for one in captured] == [[204]] * 5

    text = path.read_text()
    other = await db.value("SELECT id FROM workspace WHERE name = 'Other'")
    theirs = [row["id"] for row in await db.rows("SELECT id FROM lead WHERE workspace_id = $1", other)]
    hashed = [row["password_hash"] for row in await db.rows("SELECT password_hash FROM user_account")]
    assert len(theirs) == 5
    assert [known for known in (other, PASSWORD, *theirs, *hashed, *secrets) if known in text] == []


async def test_that_it_began_is_in_the_log_and_in_the_export(full, tmp_path):
    workspace, _ = full
    await export.write(workspace, path := tmp_path / "export.ndjson")
    entries = [line["data"]["action"] for line in read(path) if line["kind"] == "audit_entry"]
    assert entries.count("workspace.exported") == 1


async def test_nobody_else_on_the_machine_may_read_it(workspace, tmp_path):
    await export.write(workspace, path := tmp_path / "export.ndjson")
    assert stat.filemode(path.stat().st_mode) == "-rw-------"


async def test_a_file_that_is_there_is_left_alone(workspace, tmp_path):
    (path := tmp_path / "mine.txt").write_text("mine")
    with pytest.raises(OperatorError, match="File exists"):
        await export.write(workspace, path)
    assert path.read_text() == "mine"
    assert await db.value("SELECT count(*) FROM audit_entry WHERE action = 'workspace.exported'") == 0


async def test_a_file_that_cannot_be_written_is_said(workspace, tmp_path):
    with pytest.raises(OperatorError, match="No such file or directory"):
        await export.write(workspace, tmp_path / "nowhere" / "export.ndjson")


def test_no_column_of_a_line_is_a_secret():
    parts = [part.statement for kind in export.kinds() for part in kind.parts]
    shown = " ".join(one.text.partition(" FROM ")[0] for one in (*(kind.page for kind in export.kinds()), *parts))
    found = re.findall(r"\w*(?:hash|secret|password|totp|headers)\w*|\btoken\b", shown)
    assert found == ["response_headers"]  # those of receivers, kept without their secrets
