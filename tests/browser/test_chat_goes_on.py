"""A chat goes on: on the next page, in other tabs, without a network, and while a person answers."""

from playwright.async_api import expect

from leadwire.domain.bots import changes as bots
from leadwire.domain.bots.look import Look
from leadwire.domain.conversations import pubsub
from leadwire.domain.conversations.changes import erasing, inbox, seen
from leadwire.domain.conversations.pubsub import hub
from leadwire.infrastructure import db
from tests.browser.conftest import held, visiting
from tests.browser.site import website
from tests.browser.visitor import Chat
from tests.domain.bots.conftest import desk, operators  # noqa: F401 - fixtures
from tests.interfaces.widget.test_api import ASKS_FIRST
from tests.waiting import eventually


async def test_it_stays_open_on_the_next_page_with_what_is_half_written(chat):
    await chat.open()
    await chat.picks("Just looking")
    await expect(chat.dialog.get_by_role("button", name="1-10", exact=True)).to_be_visible()
    await chat.field.fill("about")
    await chat.page.goto(f"{chat.page.url}next")
    await expect(chat.dialog).to_be_visible()
    await expect(chat.field).to_have_value("about")
    await chat.hears("Just looking")
    assert await chat.page.evaluate("document.activeElement === document.body")  # nobody has asked for the focus
    await chat.field.press("Escape")
    await chat.page.reload()
    await expect(chat.launcher).to_have_attribute("aria-expanded", "false")
    await expect(chat.dialog).to_be_hidden()


async def test_two_tabs_are_in_step(visit, chat):
    other = Chat(await visit.page())
    await other.page.goto(chat.page.url)
    await expect(other.launcher).to_be_visible()
    await chat.open()
    await expect(other.dialog).to_be_visible()
    await chat.picks("Just looking")
    await other.hears("Just looking")
    await expect(other.dialog.get_by_role("button", name="1-10", exact=True)).to_be_visible()
    await chat.picks("1-10")
    await expect(other.log).to_contain_text("work e-mail")
    await chat.field.fill("grace@navy")
    await expect(other.field).to_have_value("grace@navy")
    await other.says("grace@navy.example")
    await chat.hears("grace@navy.example")
    assert await chat.read() == await other.read()
    await other.dialog.get_by_role("button", name="Close chat").click()
    await expect(chat.dialog).to_be_hidden()


async def both(visit, chat):
    """A second tab; the chat is open in both."""
    other = Chat(await visit.page())
    await other.page.goto(chat.page.url)
    await expect(other.launcher).to_be_visible()
    await chat.open()
    await expect(other.lines.first).to_be_visible()
    return other


async def test_two_tabs_that_begin_at_once_are_in_one_conversation(visit, chat):
    other = await both(visit, chat)
    asked, free = await held(chat.page, "**/conversations")
    await chat.picks("Just looking")
    await asked.wait()
    await other.says("1-10")
    await expect(other.lines.filter(has_text="1-10")).to_have_count(1)
    free.set()
    for tab in (chat, other):
        await expect(tab.log).to_contain_text("work e-mail")
        await tab.hears("Just looking")
        await tab.hears("1-10")
    assert await chat.read() == await other.read()
    assert await db.value("SELECT count(*) FROM conversation") == 1


async def test_an_answer_to_one_greeting_is_none_to_the_next(visit, chat, workspace, qualifier):
    await chat.open()
    await bots.save_draft(workspace, qualifier.id, ASKS_FIRST)
    await bots.publish(workspace, qualifier.id)
    await chat.picks("Just looking")
    await chat.hears("May we store A?")
    lost = chat.lines.filter(has_text="Just looking")
    await expect(lost.get_by_text("Not delivered")).to_be_visible()
    assert await db.value("SELECT count(*) FROM conversation") == 0
    await chat.picks("Yes")
    await chat.hears("Yes")
    await eventually(lambda: db.value("SELECT text = 'May we store A?' FROM consent"))
    visit.complaints.clear()  # the browser's, of an answer that refused


async def test_a_person_is_reached_whatever_the_greeting_is_by_now(chat, workspace, qualifier):
    await chat.open()
    await bots.save_draft(workspace, qualifier.id, ASKS_FIRST)
    await bots.publish(workspace, qualifier.id)
    await chat.picks("Talk to a person")
    await eventually(lambda: db.value("SELECT count(*) = 1 FROM conversation WHERE status = 'handoff'"))


async def test_what_comes_late_of_a_conversation_that_another_tab_has_left_is_not_shown(visit, chat):
    other = await both(visit, chat)
    await chat.picks("Just looking")
    await other.hears("Just looking")
    known = await chat.read()
    asked, free = await held(chat.page, "**/messages?after=*")
    await other.picks("1-10")
    await asked.wait()
    await other.dialog.get_by_role("button", name="End chat").click()
    await other.dialog.get_by_role("button", name="Start a new chat").click()
    await other.says("A new question")
    await eventually(lambda: db.value("SELECT count(*) = 2 FROM conversation"))
    new = await db.value("SELECT id FROM conversation ORDER BY id DESC LIMIT 1")
    adopted = "id => document.querySelector('leadwire-chat').conversation.kept.id === id"
    await chat.page.wait_for_function(adopted, arg=new)
    free.set()
    await chat.hears("A new question")
    rows = await db.rows("SELECT content FROM message WHERE conversation_id = $1 ORDER BY seq", new)
    assert await chat.read() == known + [row["content"] for row in rows]


async def test_both_sides_see_that_the_other_types_and_has_read(chat, workspace, desk, operators):  # noqa: F811
    await chat.open()
    await chat.picks("Talk to a person")
    await chat.hears("I have asked a colleague to join. They will answer here.")
    conversation = await db.value("SELECT id FROM conversation")
    await eventually(lambda: streams(workspace, conversation))
    pubsub.publish(workspace, conversation, "typing_agent")
    await expect(chat.dialog.get_by_text("Team is typing …")).to_be_visible()
    await inbox.reply(workspace, conversation, operators[0], "Ada here")
    await chat.hears("Ada here")
    await expect(chat.dialog.get_by_text("Team is typing …")).to_be_hidden()
    last = await db.value("SELECT max(seq) FROM message")
    await eventually(lambda: db.value("SELECT seen_by_visitor_seq = $1 FROM conversation", last))
    with hub.watch(workspace, conversation, ("typing_visitor",)) as watch:
        await chat.field.press_sequentially("He")
        assert await watch.changed(240) == {(conversation, "typing_visitor")}
    await chat.says("Hello Ada")
    await chat.hears("Hello Ada")
    read = chat.lines.filter(has_text="Hello Ada").get_by_text("Seen")
    await expect(read).to_have_count(0)
    await eventually(lambda: db.value("SELECT max(seq) > $1 FROM message", last))
    await seen.by_agent(workspace, conversation, operators[0], last + 1)
    await expect(read).to_be_visible()


async def streams(workspace, conversation):
    """Whether the visitor's stream is open."""
    return hub.watchers(workspace, conversation) > 0


async def test_a_visitor_whose_conversation_is_no_longer_kept_begins_another(visit, chat, workspace):
    """The retention time is over, or somebody was erased; the browser still knows of an open conversation."""
    await chat.open()
    await chat.picks("Just looking")
    await expect(chat.dialog.get_by_role("button", name="1-10", exact=True)).to_be_visible()
    old = await db.value("SELECT id FROM conversation")
    async with db.transaction():
        await erasing.delete(workspace, [old])
    await chat.says("Are you there?")
    await expect(chat.dialog.get_by_text("The chat has ended")).to_be_visible()
    await eventually(lambda: db.value("SELECT count(*) FROM message WHERE content = 'Are you there?'"))
    visit.complaints.clear()  # the browser's, of an answer that refused


async def test_a_phone_without_a_network_sends_later(browser, door, qualifier):
    await bots.set_look(qualifier.workspace, qualifier.id, Look(), "#0f766e")
    async with (
        website(door, qualifier.id) as address,
        visiting(browser, viewport={"width": 390, "height": 844}, has_touch=True, is_mobile=True) as visit,
    ):
        chat = Chat(await visit.page())
        await chat.page.goto(address)
        await chat.open()
        await chat.picks("Just looking")
        await expect(chat.dialog.get_by_role("button", name="1-10", exact=True)).to_be_visible()
        await visit.context.set_offline(True)
        await chat.says("11-50")
        await expect(chat.dialog.get_by_text("You are offline.")).to_be_visible()
        waiting = chat.page.locator("leadwire-chat .state:not([hidden])")
        await expect(waiting).to_have_text("Not sent yet")
        await visit.context.set_offline(False)
        await expect(chat.log).to_contain_text("work e-mail")
        await expect(waiting).to_have_count(0)
        assert await db.value("SELECT count(*) FROM message WHERE content = '11-50'") == 1


_NO_STORAGE = """
window.BroadcastChannel = class {
  constructor() { throw new DOMException("The operation is insecure.", "SecurityError"); }
};
"""


async def test_a_browser_that_keeps_nothing_hears_a_person(browser, door, qualifier, workspace, desk, operators):  # noqa: F811
    """Such a page has no storage, no locks and, in Firefox, no channel to other tabs."""
    sandbox = "sandbox allow-scripts allow-forms"
    async with website(door, qualifier.id, sandbox) as address, visiting(browser) as visit:
        chat = Chat(await visit.page())
        await chat.page.add_init_script(_NO_STORAGE)
        await chat.page.goto(address)
        await chat.open()
        await chat.picks("Talk to a person")
        await chat.hears("I have asked a colleague to join. They will answer here.")
        await inbox.reply(workspace, await db.value("SELECT id FROM conversation"), operators[0], "Ada here")
        await chat.hears("Ada here")
        assert visit.complaints == []
