"""Another person signs in on the website, in the same browser: nothing of the one before is theirs."""

import msgspec
import pytest
from playwright.async_api import expect

from leadwire.domain.bots import changes as bots
from leadwire.domain.conversations.changes import inbox
from leadwire.domain.conversations.pubsub import hub
from leadwire.infrastructure import db
from tests.browser.conftest import held
from tests.browser.site import website
from tests.browser.test_calls import STUB
from tests.browser.visitor import Chat
from tests.domain.bots.conftest import desk, operators  # noqa: F401 - fixtures
from tests.interfaces.widget.test_identity import signed
from tests.waiting import eventually

SAID = "[...document.querySelector('leadwire-chat').conversation.said.values()].map((one) => one.content)"


@pytest.fixture
async def people(workspace, qualifier):
    """Two who sign in on the website, as it vouches for them: Ada and Bea."""
    secret = await bots.make_identity_secret(workspace, qualifier.id)
    return [signed(secret, qualifier.id, f"{name}@example.com", f"u-{name}", name) for name in ("ada", "bea")]


@pytest.fixture
async def single(visit, door, qualifier):
    """The chat on a website where people sign in and out on one page."""
    async with website(door, qualifier.id, script=STUB) as address:
        page = await visit.page()
        await page.goto(address)
        yield Chat(page)


async def calls(chat, name, values):
    """What the page tells the chat."""
    await chat.page.evaluate("([name, values]) => leadwire(name, values)", [name, values])


async def conversations():
    """Their ids, oldest first."""
    return [row["id"] for row in await db.rows("SELECT id FROM conversation ORDER BY id")]


async def said_in(conversation):
    rows = await db.rows("SELECT content FROM message WHERE conversation_id = $1 ORDER BY seq", conversation)
    return [row["content"] for row in rows]


async def test_the_next_person_reads_nothing_of_the_one_before(single, people, workspace, desk, operators):  # noqa: F811
    ada, bea = people
    await calls(single, "identify", ada)
    await single.open()
    hello = await single.read()
    await single.picks("Talk to a person")
    await single.hears("I have asked a colleague to join. They will answer here.")
    (first,) = await conversations()
    await eventually(lambda: hub.watchers(workspace, first) > 0)
    await inbox.reply(workspace, first, operators[0], "Your bill is open, Ada")
    await single.hears("Your bill is open, Ada")
    await calls(single, "identify", bea)
    assert await single.read() == hello
    await inbox.reply(workspace, first, operators[0], "Your card ends in 7")
    await single.picks("Talk to a person")
    await single.hears("I have asked a colleague to join. They will answer here.")
    _, second = await conversations()
    await inbox.reply(workspace, second, operators[0], "Hello Bea")
    await single.hears("Hello Bea")
    assert await single.read() == await said_in(second)
    assert await single.page.evaluate(SAID) == await said_in(second)
    await eventually(lambda: hub.watchers(workspace, first) == 0)


async def test_what_one_person_has_not_sent_is_never_the_next_persons(visit, single, people):
    ada, bea = people
    await calls(single, "identify", ada)
    await single.open()
    await visit.context.set_offline(True)
    await single.says("From Ada")
    await expect(single.dialog.get_by_text("You are offline.")).to_be_visible()
    await single.field.fill("Half of what Ada")
    await calls(single, "identify", bea)
    await expect(single.field).to_have_value("")
    await expect(single.log.get_by_text("From Ada")).to_have_count(0)
    await visit.context.set_offline(False)
    await single.says("From Bea")
    await eventually(lambda: db.value("SELECT true FROM message WHERE content = 'From Bea'"))
    (only,) = await conversations()
    assert "From Ada" not in await said_in(only)
    visit.complaints.clear()  # the browser's, of the network


async def test_a_conversation_that_has_just_begun_is_not_the_next_persons(single, people):
    ada, bea = people
    asked, free = await held(single.page, "**/conversations")
    await calls(single, "identify", ada)
    await single.open()
    await single.says("From Ada")
    await asked.wait()
    await calls(single, "identify", bea)
    await single.field.fill("From Bea")
    await single.field.press("Enter")
    free.set()
    await single.hears("From Bea")
    await eventually(lambda: db.value("SELECT count(*) = 2 FROM conversation"))
    first, second = await conversations()
    await eventually(lambda: db.value("SELECT true FROM message WHERE content = 'From Bea'"))
    assert "From Bea" not in await said_in(first)
    await expect(single.thinking).to_have_count(0)
    assert await single.read() == await said_in(second)


async def test_what_the_page_told_of_one_person_is_not_told_of_the_next(single, people):
    ada, bea = people
    await calls(single, "identify", ada)
    await calls(single, "attributes", {"plan": "pro"})
    await calls(single, "prefill", {"company": "Ada Ltd"})
    await calls(single, "identify", bea)
    await calls(single, "attributes", {"team": "navy"})
    await single.open()
    await single.says("hello")
    told = msgspec.json.decode(await eventually(lambda: db.value("SELECT variables::text FROM conversation")))
    assert (told["page.team"], told["verified.name"]) == ("navy", "bea")
    assert "page.plan" not in told
    known = await single.page.evaluate("Object.fromEntries(document.querySelector('leadwire-chat').known)")
    assert "company" not in known


async def test_a_person_who_identified_without_a_word_leaves_a_page_and_nothing_else(single, people):
    """A conversation that was open when somebody identified is theirs, also on the next page."""
    ada, bea = people
    await single.open()
    await single.says("What nobody else may read")
    await single.hears("What nobody else may read")
    await calls(single, "identify", ada)
    await single.field.fill("Half of what Ada")
    await single.page.reload()
    await expect(single.field).to_have_value("Half of what Ada")
    await calls(single, "identify", bea)
    await expect(single.field).to_have_value("")
    await expect(single.log.get_by_text("What nobody else may read")).to_have_count(0)


async def test_another_tab_shows_the_next_person_nothing_of_the_one_before(visit, single, people):
    ada, bea = people
    other = Chat(await visit.page())
    await other.page.goto(single.page.url)
    await expect(other.launcher).to_be_visible()
    await calls(single, "identify", ada)
    await single.open()
    await single.says("From Ada")
    await single.hears("From Ada")
    await expect(other.lines.filter(has_text="From Ada")).to_have_count(1)
    await calls(other, "identify", bea)
    await other.says("From Bea")
    await expect(single.lines.filter(has_text="From Bea")).to_have_count(1)
    _, second = await conversations()
    await expect(single.lines).to_have_count(len(await said_in(second)))
    assert await single.read() == await said_in(second)
