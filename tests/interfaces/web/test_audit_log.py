"""The audit log on the screen: whole, filtered, paged, and as text."""

import json
import re

import pytest

from leadwire.domain.accounts import changes as accounts
from leadwire.domain.accounts.audit import changes as audit
from leadwire.domain.accounts.audit import reads as log
from leadwire.domain.accounts.sign_in.changes import sessions
from leadwire.infrastructure import clock, db
from tests import jobs
from tests.interfaces.web.hostile import SCRIPTS, harmless


async def noted(workspace: str, actor: str, action: str, subject: str = "", detail: str = "") -> None:
    async with db.transaction():
        await audit.record(workspace, actor, audit.Entry(action, subject, detail), "192.0.2.0/24")


def entries(page: str) -> list[tuple[str, str]]:
    return re.findall(r'<th scope="row" class="cut" title="[^"]*">([^<]*)</th><td title="([^"]*)">', page)


async def test_newest_first_of_one_person_or_one_kind(admin, workspace):
    await noted(workspace, "bo@example.org", "bot.published")
    await noted(workspace, "cy@example.org", "bot.published")
    await noted(workspace, "cy@example.org", "lead.updated")
    assert entries(await admin.open("/audit"))[:2] == [
        ("cy@example.org", "lead.updated"),
        ("cy@example.org", "bot.published"),
    ]
    assert entries(await admin.open("/audit?actor=bo@example.org&action=")) == [("bo@example.org", "bot.published")]
    assert len(entries(await admin.open("/audit?action=bot.published"))) == 2
    both = await admin.open("/audit?action=bot.published&actor=cy@example.org")
    assert entries(both) == [("cy@example.org", "bot.published")]
    assert re.findall(r'<option value="([^"]+)"', both)[:3] == [
        "ada@example.org",
        "bo@example.org",
        "cy@example.org",
    ]


async def test_what_one_person_looked_at_in_a_row_is_folded(admin, workspace):
    for action in ("lead.read", "leads.listed", "lead.updated", "delivery.read"):
        await noted(workspace, "bo@example.org", action, "lead_1")
    page = await admin.open("/audit?actor=bo@example.org")
    assert [action for _, action in entries(page)] == ["delivery.read", "lead.updated"]
    assert re.findall("looked at personal data ([0-9]+) times", page) == ["2"]
    assert page.count("<b>Lead read</b>") == page.count("<b>Leads listed</b>") == 1
    assert entries(await admin.open("/audit?action=lead.read")) == [("bo@example.org", "lead.read")]


async def test_pages(admin, workspace):
    for number in range(51):
        await noted(workspace, "bo@example.org", f"thing.done{number}")
    page = await admin.open("/audit?actor=bo@example.org")
    assert [action for _, action in entries(page)] == [f"thing.done{number}" for number in range(50, 0, -1)]
    onward = re.search(r'href="([^"]*after=[^"]*)"', page)[1].replace("&amp;", "&")
    assert [action for _, action in entries(await admin.open(onward))] == ["thing.done0"]


@pytest.mark.parametrize("query", ["after=x", "after=1.aud_01m7yjs791eyvrez20z8kad45f", "after=aud_1"])
async def test_odd_questions_are_refused(admin, query):
    await admin.open(f"/audit?{query}", 400)


@pytest.mark.parametrize("typed", SCRIPTS)
async def test_what_somebody_typed_is_text(admin, workspace, typed):
    await noted(workspace, typed, typed, typed, typed)
    await noted(workspace, typed, typed, f"lead_{typed}", typed)
    harmless(await admin.open("/audit"))


async def test_another_workspace_s_entries_are_not_there(admin):
    elsewhere = await accounts.create_workspace("Other")
    await noted(elsewhere, "eve@example.org", "secret.thing")
    page = await admin.open("/audit")
    assert "eve@example.org" not in page
    assert "secret.thing" not in page


async def test_those_about_one_thing_and_of_some_days(admin, workspace):
    await noted(workspace, "bo@example.org", "lead.updated", "lead_1")
    await noted(workspace, "bo@example.org", "lead.updated", "lead_2")
    today, tomorrow = (f"{clock.ago(days=-ahead):%Y-%m-%d}" for ahead in (0, 1))
    assert len(entries(await admin.open("/audit?subject=lead_2"))) == 1
    assert len(entries(await admin.open(f"/audit?actor=bo@example.org&since={today}&until={today}"))) == 2
    assert entries(await admin.open(f"/audit?since={tomorrow}")) == []
    assert entries(await admin.open("/audit?until=2020-01-01&subject=lead_2")) == []


async def test_an_admin_exports_the_whole_log(admin, agent, workspace):
    await noted(workspace, "bo@example.org", "bot.published")
    await jobs.run("audit.chain")
    await admin.open("/audit")
    exported = await admin.post("/audit/export", data={"form_token": admin.token})
    assert exported.headers["Content-Disposition"].endswith('.ndjson"')
    lines = [json.loads(line) for line in exported.text.splitlines()]
    assert [line["number"] for line in lines] == list(range(1, len(lines) + 1))
    assert ("bo@example.org", "bot.published") in [(line["actor"], line["action"]) for line in lines]
    assert await db.value("SELECT count(*) FROM audit_entry WHERE action = 'audit.exported'") == 1
    assert (await agent.post("/audit/export", data={"form_token": agent.token})).status_code == 403


@pytest.mark.parametrize("end", ["DELETE FROM user_session", "UPDATE user_account SET role = 'agent'"])
async def test_a_download_ends_with_its_session_and_with_the_right_to_it(admin, monkeypatch, end):
    async def lines(_):
        yield b"1\n"
        await db.rows(end)
        yield b"2\n"

    monkeypatch.setattr(sessions, "CHECKED_EVERY", 0.0)
    monkeypatch.setattr(log, "ndjson", lines)
    await admin.open("/audit")
    assert (await admin.post("/audit/export", data={"form_token": admin.token})).content == b"1\n"
