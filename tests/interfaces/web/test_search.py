"""The search screen: groups, marks, filter words, pages; nothing of others, and nothing of theirs as HTML."""

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
    "q", ["", "!!", "%00", "a" * 201, "'; DROP TABLE lead; --", "\\", "((", "&|!:*", "%F0%9F%98%80"]
)
async def test_odd_searches_are_no_fault_of_ours(admin, q):
    answer = await admin.get("/search", params={"q": q})
    assert answer.status_code in (200, 400)
    assert (answer.status_code == 400) == (len(q) > 200)


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


async def test_the_list_of_conversations_leads_to_what_was_said(viewer):
    assert 'href="/search?q=a%20%26%20b"' in await viewer.open("/conversations?q=a+%26+b")


async def test_it_says_when_older_ones_are_not_found_yet(admin, workspace, bot):
    assert "Not everything is found yet" not in await admin.open("/search?q=zora")
    await make.lead(workspace, bot)
    await db.rows("SELECT setval('search_due_number_seq', nextval('search_due_number_seq') + $1)", reads.BEHIND)
    assert "Not everything is found yet" in await admin.open("/search?q=zora")
