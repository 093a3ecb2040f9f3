"""Bots on the screen."""

import re
from typing import get_args

import pytest

from leadwire.domain.accounts import changes as accounts
from leadwire.domain.bots import changes, reads
from leadwire.domain.bots.flow import library
from leadwire.domain.bots.flow.expressions import DERIVED
from leadwire.domain.bots.flow.graph import onward
from leadwire.domain.bots.flow.nodes import Input, Op, Weekday
from leadwire.domain.bots.flow.parse import read
from leadwire.domain.bots.table import Bot
from leadwire.domain.conversations import changes as conversations
from leadwire.domain.conversations.schema import Origin
from leadwire.infrastructure import db, secret_box
from leadwire.interfaces.web.flow_picture import picture
from tests.domain.bots import flow_words
from tests.domain.bots.flows import shipped


@pytest.fixture
async def greeter(admin):
    """A bot made on the screen."""
    await admin.open("/bots")
    await admin.fill("/bots", name="Greeter", flow="lead-qualification")
    return await db.value("SELECT id FROM bot")


async def test_from_nothing_to_a_published_bot(admin, workspace, greeter):
    page = await admin.open(f"/bots/{greeter}")
    assert "Not published" in page
    assert '<svg id="flow"' in page
    text = library.text("lead-qualification")
    page = await admin.fill(f"/bots/{greeter}/draft", source=text, publish="1")
    assert "new conversations run version 1. No website may show it yet: name yours under Website, Install." in page
    await admin.fill(f"/bots/{greeter}/install", origins="https://www.example.com")
    page = await admin.fill(f"/bots/{greeter}/draft", source=f"{text}\n# The same, once more\n", publish="1")
    assert "new conversations run version 2.</p>" in page
    assert (await reads.detail(workspace, greeter)).published_version == 2


async def test_faults_are_told_with_their_lines_and_the_text_stays(admin, workspace, greeter):
    text = library.text("lead-qualification").replace('next = "goal"', 'next = "gaol"')
    await admin.open(f"/bots/{greeter}")
    page = await admin.fill(f"/bots/{greeter}/draft", source=text)
    assert "<b>Line " in page
    assert "gaol" in page
    assert (await reads.detail(workspace, greeter)).draft == text
    page = await admin.fill(f"/bots/{greeter}/draft", 422, source=text, publish="1")
    assert "gaol" in page
    assert (await reads.detail(workspace, greeter)).published_version is None
    for nonsense in ("{", "</textarea><script>alert(1)</script>", "x" * 100_000):
        page = await admin.fill(f"/bots/{greeter}/draft", 422, source=nonsense)
        assert "<script>alert" not in page
    assert (await admin.post(f"/bots/{greeter}/draft", data={"source": "x" * 2_000_000})).status_code == 413


async def test_the_editor_leads_to_the_format(admin, viewer, greeter):
    for one in (admin, viewer):
        assert 'href="/docs/flows"' in await one.open(f"/bots/{greeter}/text")
    page = await viewer.open("/docs/flows")
    for name in (*(part.name for part in flow_words.parts()), *get_args(Op), *get_args(Input), *DERIVED):
        assert f"<code>{name}</code>" in page


async def test_a_draft_kept_under_older_rules_can_be_tried_and_says_what_is_wrong_now(admin, greeter):
    older = library.text("lead-qualification").replace('op = "gte", value = 60', 'op = "contains", value = ""')
    await db.rows("UPDATE bot SET draft = $2 WHERE id = $1", greeter, older)
    assert "What brings you here?" in (await admin.get(f"/bots/{greeter}/trial/config")).text
    assert "Compare with a text that is not empty." in await admin.open(f"/bots/{greeter}/text")


async def test_versions_differ_and_come_back(admin, workspace, greeter):
    first = library.text("lead-qualification")
    await admin.open(f"/bots/{greeter}")
    await admin.fill(f"/bots/{greeter}/draft", source=first, publish="1")
    await admin.fill(f"/bots/{greeter}/draft", source=first.replace("Talk to us", "Hello there"), publish="1")
    again = first.replace("Talk to us", "Hello there").replace("What brings you here?", "How can we help?")
    await admin.fill(f"/bots/{greeter}/draft", source=again)
    page = await admin.open(f"/bots/{greeter}/versions")
    assert '<span class="plus">' in page
    assert "Heading of the chat: <s>Talk to us</s> → <span>Hello there</span>" in page
    assert "Question: <s>What brings you here?</s> → <span>How can we help?</span>" in page  # in the draft
    await admin.fill(f"/bots/{greeter}/publish", note=" Friendlier\n words ")
    newest = (await reads.versions(workspace, greeter))[0]
    assert (newest.version, newest.note) == (3, "Friendlier words")
    page = await admin.open(f"/bots/{greeter}/versions")
    assert "by ada@example.org" in page
    assert "Friendlier words" in page
    assert "not published yet" not in page
    await admin.fill(f"/bots/{greeter}/rollback", version="1")
    assert (await reads.detail(workspace, greeter)).published_version == 1
    await admin.fill(f"/bots/{greeter}/rollback", 404, version="9999999999")


async def test_what_it_was_taught(admin, workspace, greeter):
    await admin.open(f"/bots/{greeter}/knowledge")
    page = await admin.fill(f"/bots/{greeter}/knowledge", question="What does it cost?", answer="<b>Nothing</b>")
    assert "&lt;b&gt;Nothing&lt;/b&gt;" in page
    assert "1 to 500" in await admin.fill(f"/bots/{greeter}/knowledge", 422, question="", answer="x")
    (entry,) = await reads.faq(workspace, greeter)
    await admin.fill(f"/bots/{greeter}/knowledge/{entry.id}/forget")
    assert await reads.faq(workspace, greeter) == []


async def test_where_it_may_be_shown(admin, workspace, greeter):
    page = await admin.open(f"/bots/{greeter}/install")
    assert f"data-bot=&#34;{greeter}&#34;" in page or f'data-bot="{greeter}"' in page
    await admin.fill(f"/bots/{greeter}/install", origins="https://a.example\nhttps://b.example")
    assert (await reads.detail(workspace, greeter)).allowed_origins == ["https://a.example", "https://b.example"]
    page = await admin.fill(f"/bots/{greeter}/install", 422, origins="https://a.example/path")
    assert "enter scheme and host, such as https://example.com" in page


async def test_a_secret_for_identities_is_shown_once_and_replaced(admin, viewer, greeter):
    await admin.open(f"/bots/{greeter}/install")
    place, secrets = secret_box.place(Bot.identity_secret, greeter), []
    for _ in range(2):
        page = await admin.fill(f"/bots/{greeter}/identity", 201)
        sealed = await db.value("SELECT identity_secret FROM bot WHERE id = $1", greeter)
        secrets.append(secret_box.get().open_once(sealed, place))
        assert secrets[-1] in page
    assert secrets[0] != secrets[1]
    page = await admin.open(f"/bots/{greeter}/install")
    assert not any(secret in page for secret in secrets)
    done = await db.rows("SELECT action, subject FROM audit_entry ORDER BY id DESC LIMIT 1")
    assert [tuple(one) for one in done] == [("bot.identity_secret_made", greeter)]
    await viewer.open("/account")
    await viewer.fill(f"/bots/{greeter}/identity", 403)


async def test_a_viewer_may_look_and_another_workspace_may_not(viewer, greeter):
    page = await viewer.open(f"/bots/{greeter}/text")
    assert "readonly" in page
    assert 'name="publish"' not in page
    assert "/publish" not in await viewer.open(f"/bots/{greeter}?step=start")
    other = await accounts.create_workspace("Other")
    theirs = await changes.create(other, "Theirs")
    for part in ("", "?try=1", "/text", "/knowledge", "/versions", "/install"):
        await viewer.open(f"/bots/{theirs}{part}", 404)


@pytest.mark.parametrize("name", library.NAMES)
def test_every_step_has_its_place_in_the_picture(name):
    flow = shipped(name)
    ways = onward(flow)
    drawn = picture(read(library.text(name)))
    assert sorted(box.id for box in drawn.boxes) == sorted(node.id for node in flow.nodes)
    assert len({(box.x, box.y) for box in drawn.boxes}) == len(drawn.boxes)
    for box in drawn.boxes:
        assert {way.target for way in box.ways if way.line} == set(ways[box.id])


async def test_the_builder_offers_the_days_in_the_order_of_the_week(admin, workspace, greeter):
    hours = 'hours = [{ days = ["tue"], opens = "09:00", closes = "17:00" }]\n'
    await changes.save_draft(workspace, greeter, hours + library.text("lead-qualification"))
    page = await admin.open(f"/bots/{greeter}")
    days = re.findall(r'type="checkbox" name="hours/0/days" value="(\w+)"( checked)?', page)
    assert days == [(day, " checked" if day == "tue" else "") for day in get_args(Weekday)]


async def test_a_bot_is_paused_resumed_archived_and_restored(admin, workspace, greeter):
    async def says(text):
        line = {"content": text, "client_message_id": text.encode().hex().ljust(24, "0")}
        return await admin.post(f"/widget/v1/bots/{greeter}/conversations", json=line)

    async def shown():
        return (await admin.get(f"/widget/v1/bots/{greeter}")).status_code

    at = f"/bots/{greeter}/state"
    await admin.fill(f"/bots/{greeter}/draft", source=library.text("lead-qualification"), publish="1")
    begun = (await says("Just looking")).json()
    for deed, pill, status in (
        ("paused", "Paused", 404),
        ("paused", "Paused", 404),
        ("resumed", "Version 1 is live", 200),
        ("archived", "Archived", 404),
        ("restored", "Paused", 404),
        ("resumed", "Version 1 is live", 200),
    ):
        await admin.fill(at, to=deed)
        assert f"</svg>{pill}</span>" in await admin.open(f"/bots/{greeter}")
        assert (await shown(), (await says(deed)).status_code) == (status, {404: 404, 200: 201}[status])
    await admin.fill(at, to="archived")
    assert "Archived: 1</summary>" in await admin.open("/bots")
    assert (await reads.one(workspace, greeter)).published_version is None
    line = {"content": "Still here", "client_message_id": "still-here-0123456789abcdef"}
    to = f"/widget/v1/conversations/{begun['conversation_id']}/messages"
    going_on = await admin.post(to, json=line, headers={"Authorization": f"Bearer {begun['token']}"})
    assert going_on.status_code == 200, "a conversation that is under way goes on"
    await admin.fill(f"/bots/{greeter}/publish")
    assert await shown() == 200, "who publishes a bot wants it to be seen"
    assert "Archived:" not in await admin.open("/bots")
    done = await db.rows("SELECT action FROM audit_entry WHERE subject = $1 ORDER BY id DESC LIMIT 3", greeter)
    assert [row["action"] for row in done] == ["bot.published", "bot.archived", "bot.resumed"]


async def test_a_bot_is_deleted_unless_somebody_talked_to_it(admin, workspace, greeter):
    page = await admin.open(f"/bots/{greeter}")
    assert "It has no conversations and no leads." in page
    await db.rows("INSERT INTO bot_count (bot_id, day, kind, name, total) VALUES ($1, now(), 'shown', '', 1)", greeter)
    await admin.fill(f"/bots/{greeter}/draft", source=library.text("lead-qualification"), publish="1")
    await admin.fill(f"/bots/{greeter}/knowledge", question="Why?", answer="Because.")
    copy = await changes.duplicate(workspace, greeter, "Copy")
    assert "The bot is deleted." in await admin.fill(f"/bots/{greeter}/state", to="deleted")
    await admin.open(f"/bots/{greeter}", 404)
    for table in ("bot_version", "faq_entry", "bot_count"):
        assert await db.value(f"SELECT count(*) FROM {table} WHERE bot_id = $1", greeter) == 0
    await conversations.start(workspace, copy, Origin())
    page = await admin.open(f"/bots/{copy}")
    assert "So it can be archived, not deleted." in page
    assert 'value="deleted"' not in page
    assert "Archive it instead." in await admin.fill(f"/bots/{copy}/state", 409, to="deleted")
    await admin.fill(f"/bots/{copy}/state", 422, to="exploded")


async def test_the_list_tells_how_bots_did_in_thirty_days(admin, workspace, greeter):
    for days, kind, total in ((0, "started", 1200), (29, "started", 34), (31, "started", 5), (1, "lead", 17)):
        await db.rows(
            "INSERT INTO bot_count (bot_id, day, kind, name, total)"
            " VALUES ($1, (now() AT TIME ZONE 'UTC')::date - $2::int, $3, '', $4)",
            greeter, days, kind, total,
        )  # fmt: skip
    page = await admin.open("/bots")
    assert re.findall(r'data-label="(\w+), 30 days">([\d,]+)<', page) == [("Conversations", "1,234"), ("Leads", "17")]
