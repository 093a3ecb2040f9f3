"""The search screen: groups, marks, filter words, pages; nothing of others, and nothing of theirs as HTML."""

import html
import re

import pytest

from leadwire.domain.accounts import changes as accounts
from leadwire.domain.bots import changes as bots
from leadwire.domain.conversations import changes as conversations
from leadwire.domain.conversations.changes import inbox
from leadwire.domain.search import reads
from leadwire.infrastructure import db
from tests import jobs, make


@pytest.fixture
async def said(workspace, bot, admin):
    """A conversation, its lead and a note about it, all with one word; and as much in another workspace."""
    talks = []
    for place in (workspace, await accounts.create_workspace("Other")):
        lead = await make.lead(place, bot if place == workspace else await bots.create(place, "Theirs"), name="Zora")
        await conversations.add_message(place, lead.conversation_id, "user", "My <b>lamp</b> is Zora red, I say")
        user = await db.value("SELECT id FROM user_account LIMIT 1")
        await inbox.note(place, lead.conversation_id, user, "Zora was here before")
        talks.append(lead.conversation_id)
    await jobs.run("search.take", "search")
    return talks


async def test_all_kinds_are_found_with_what_was_searched_for_marked(admin, said):
    page = await admin.open("/search?q=zora")
    assert "My &lt;b&gt;lamp&lt;/b&gt; is <mark>Zora</mark> red" in page
    assert page.count("<mark>Zora</mark>") == 4  # the lead, the conversation's name and message, the note
    assert "ada@example.org" in page
    assert said[0] in page
    assert said[1] not in page
    only = await admin.open("/search?q=zora&kind=note")
    assert "was here before" in only
    assert "is <mark>Zora</mark> red" not in only


async def test_who_may_not_use_the_inbox_finds_no_notes(viewer, said):
    page = await viewer.open("/search?q=zora")
    assert "is <mark>Zora</mark> red" in page
    assert "was here before" not in page
    assert "was here before" not in await viewer.open("/search?q=zora&kind=note")


async def test_filter_words_narrow_and_unknown_ones_are_named(admin, said):
    assert said[0] in await admin.open("/search?q=zora+status:active")
    assert said[0] not in await admin.open("/search?q=zora+status:ended")
    page = await admin.open("/search?q=zora+colour:red+tag:")
    assert "colour: is not a filter." in page
    assert "tag: needs a tag of conversations." in page
    assert said[0] in page


@pytest.mark.parametrize(
    "q",
    [
        "", "!!", "%00", "\0", "tag:a\0b", "a" * 201, "\U0001f600" * 200, "tag:" + "\ufdfa" * 190, "\u0301", "\u2103",
        "'; DROP TABLE lead; --", "\\", "tag:\\", "tag:'", "((", "&|!:*", "zora:*", "%", "_", "zo_a", "a: " * 60,
        "after:9999-12-31", "before:0001-01-01", "<i>:x", "山田\u3000太郎", "bot:<b>x</b>", "\r\nX-A: b",
    ],
)  # fmt: skip
async def test_odd_searches_are_no_fault_of_ours(admin, said, q):
    answer = await admin.get("/search", params={"q": q})
    assert answer.status_code == (400 if len(q) > 200 or "\0" in q else 200)
    assert "<i>:" not in answer.text
    assert "<b>" not in answer.text
    assert not any(one in answer.text for one in said)


async def test_results_have_pages(admin, workspace, bot):
    made = [await make.conversation(workspace, bot) for _ in range(21)]
    await jobs.run("search.take", "search")
    page = await admin.open("/search?q=hello")
    assert "All conversations" in page
    page = await admin.open("/search?q=hello&kind=conversation")
    assert made[0] not in page
    assert made[20] in page
    after = page.split("after=")[1].split('"')[0]
    assert made[0] in await admin.open(f"/search?q=hello&kind=conversation&after={after}")
    await admin.open("/search?q=hello&kind=conversation&after=x", 400)


@pytest.mark.parametrize("role", ["admin", "agent", "viewer"])
async def test_the_command_menu_leads_nobody_where_they_may_not_go(admin, agent, viewer, said, role):
    browser = {"admin": admin, "agent": agent, "viewer": viewer}[role]
    menu = (await browser.open("/")).partition('<dialog id="commands"')[2].partition("</dialog>")[0]
    found = (await browser.open("/search?q=zora")).partition('id="hits"')[2]
    links = [html.unescape(link) for link in re.findall(r'href="(/[^"]*)"', menu + found)]
    assert "/account" in links
    assert f"/{'conversations/' if role == 'viewer' else 'inbox?c='}{said[0]}" in links
    for link in links:
        await browser.open(link)


async def test_the_list_of_conversations_leads_to_what_was_said(viewer):
    assert 'href="/search?q=a%20%26%20b"' in await viewer.open("/conversations?q=a+%26+b")


async def test_it_says_when_older_ones_are_not_found_yet(admin, workspace, bot):
    assert "Not everything is found yet" not in await admin.open("/search?q=zora")
    await make.lead(workspace, bot)
    await db.rows("SELECT setval('search_due_number_seq', nextval('search_due_number_seq') + $1)", reads.BEHIND)
    assert "Not everything is found yet" in await admin.open("/search?q=zora")
