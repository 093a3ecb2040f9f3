"""Saved replies: made, picked in the inbox, removed."""

import re

import pytest

from leadwire.domain.bots.visitors import runtime
from leadwire.domain.conversations import reads
from leadwire.domain.conversations.changes import inbox as changes
from leadwire.domain.leads import changes as leads
from leadwire.domain.leads.schema import LeadPatch
from leadwire.infrastructure import db
from leadwire.infrastructure.errors import Conflict, NotFound
from tests.domain.bots.conftest import live, visitor  # noqa: F401 - fixtures


async def test_one_is_written_picked_and_removed(agent, workspace, visitor):  # noqa: F811
    await visitor.says("ada@example.com")
    lead = await db.value("SELECT id FROM lead")
    await leads.update(workspace, lead, LeadPatch(name="Ada <b>"), unchanged={})
    await runtime.hand_off(await visitor.visit())
    await agent.open("/inbox/replies")
    page = await agent.fill("/inbox/replies", name="Hello", content="Hello {{name}}, how can I help?")
    assert "“Hello” is in the inbox now." in page
    reply = await db.value("SELECT id FROM saved_reply")
    assert ">Hello</a>" in await agent.open(f"/inbox?c={visitor.conversation}")
    page = await agent.open(f"/inbox?c={visitor.conversation}&say={reply}")
    assert ">Hello Ada &lt;b&gt;, how can I help?</textarea>" in page
    await agent.open("/inbox/replies")
    assert "None yet" in await agent.fill(f"/inbox/replies/{reply}/remove")
    actions = [row["action"] for row in await db.rows("SELECT action FROM audit_entry ORDER BY id")]
    assert [action for action in actions if "read" not in action][-2:] == ["saved_reply.added", "saved_reply.removed"]


@pytest.mark.parametrize(("name", "content"), [("", "x"), ("x" * 61, "x"), ("x", ""), ("x", "y" * 4001), ("x", " ")])
async def test_what_cannot_be_saved_is_told_and_kept_in_the_form(agent, name, content):
    await agent.open("/inbox/replies")
    page = await agent.fill("/inbox/replies", 422, name=name, content=content)
    assert re.search(r"1 to \d+ characters", page)
    assert not await db.value("SELECT count(*) FROM saved_reply")


async def test_a_name_is_there_once_and_there_are_a_hundred_at_most(workspace, monkeypatch):
    await changes.add_reply(workspace, "Hello", "x")
    with pytest.raises(Conflict, match="already"):
        await changes.add_reply(workspace, "HELLO", "y")
    monkeypatch.setattr(changes, "_MOST_REPLIES", 1)
    with pytest.raises(Conflict, match="remove one first"):
        await changes.add_reply(workspace, "Bye", "y")


async def test_another_workspace_cannot_see_or_remove_them(workspace):
    made = await changes.add_reply(workspace, "Hello", "x")
    assert await reads.saved_replies("ws_another") == []
    with pytest.raises(NotFound):
        await changes.remove_reply("ws_another", made)


@pytest.mark.parametrize(
    ("content", "named", "nameless"),
    [
        ("Hello {{name}}!", "Hello Ada!", "Hello!"),
        ("Thanks, {{name}}.", "Thanks, Ada.", "Thanks."),
        ("{{name}}: hm", "Ada: hm", ": hm"),
        ("Hello", "Hello", "Hello"),
    ],
)
def test_the_name_is_filled_in_or_goes_without_a_trace(content, named, nameless):
    assert reads.fill_in(content, "Ada") == named
    assert reads.fill_in(content, None) == nameless
