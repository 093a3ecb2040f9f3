"""A day's work in the inbox: many threads, colleagues, the keyboard, alerts, a phone."""

from datetime import timedelta
from zoneinfo import ZoneInfo

import pytest
from playwright.async_api import expect

from leadwire.domain.bots.visitors import runtime
from leadwire.domain.conversations import changes as conversations
from leadwire.domain.conversations import pubsub
from leadwire.domain.conversations.changes import end_and_snooze, seen
from leadwire.domain.conversations.changes import inbox as acts
from leadwire.infrastructure import clock, db
from leadwire.interfaces.web.faces import nickname
from tests import jobs, make
from tests.browser.conftest import visiting
from tests.browser.desk import COMPOSE, signed_in
from tests.domain.bots.conftest import Visitor, live  # noqa: F401 - a fixture
from tests.waiting import eventually

RECORDER = """
window.told = []
window.Notification = class {
    static permission = 'granted'
    static async requestPermission() { return 'granted' }
    constructor(title, options) { told.push([title, options.body]) }
    close() {}
}
document.hasFocus = () => !window.away
"""

# Of two forms with fields `id` and `remove` the first goes, and the second stays the same node.
MERGED = """
() => {
  const part = (...actions) => {
    const made = document.createElement('div')
    for (const action of actions) {
      const form = document.createElement('form')
      form.setAttribute('action', action)
      for (const name of ['id', 'remove']) form.append(Object.assign(document.createElement('input'), { name }))
      made.append(form)
    }
    return made
  }
  const old = part('/first', '/second'), second = old.lastChild
  merge(old, part('/second'))
  return [old.firstChild === second, ...[...old.children].map((form) => form.getAttribute('action'))]
}
"""


@pytest.fixture
def crowd(live):  # noqa: F811
    """Makes visitors who wait for a person."""

    async def waiting(count):
        made = [Visitor(live) for _ in range(count)]
        for one in made:
            await one.says("Hello there")
            await runtime.hand_off(await one.visit())
        return made

    return waiting


@pytest.fixture
async def agent(visit, door, workspace):
    return await signed_in(visit, door, workspace, "mary@example.org", "agent")


def row(page, visitor):
    return page.locator(f"#thread-{visitor.conversation}")


async def opened(page, visitor):
    await row(page, visitor).click()
    await expect(page.locator("#log")).to_have_attribute("data-scroll", visitor.conversation)


async def shortcut(page, letter):
    """Press a shortcut, from the field that a click on a thread leads to, and Enter where it offers a button."""
    await page.keyboard.press("Escape")
    await page.keyboard.press(letter)
    await page.keyboard.press("Enter")


async def one_in(page, visitor, place):
    await expect(row(page, visitor)).to_have_attribute("data-place", place)


async def value(column, visitor):
    return await db.value(f"SELECT {column} FROM conversation WHERE id = $1", visitor.conversation)


async def answered(agent, visitor):
    """Take a conversation and send a saved reply, by the keyboard."""
    await opened(agent, visitor)
    await shortcut(agent, "a")
    await one_in(agent, visitor, "mine")
    await agent.keyboard.press("r")
    await agent.keyboard.type("/hel")
    await expect(agent.locator("#choices [role=option]", has_text="Hello")).to_be_visible()
    assert await agent.evaluate(COMPOSE)
    await agent.keyboard.press("Enter")
    answer = agent.get_by_label("Answer", exact=True)
    await expect(answer).to_have_value("Hello, how can I help?")
    await answer.press("Enter")
    await expect(agent.locator("#log .agent")).to_contain_text("how can I help?")
    await answer.press("Escape")


async def tagged_and_noted(agent, visitor):
    """Tag a conversation twice, once too often, and leave a note to a colleague."""
    await opened(agent, visitor)
    await agent.get_by_label("Another tag").fill("Pricing, vip")
    await agent.get_by_role("button", name="Add tag").click()
    await expect(row(agent, visitor)).to_contain_text("vip")
    await agent.get_by_label("Remove the tag vip").click()
    await expect(row(agent, visitor)).not_to_contain_text("vip")
    await agent.locator("#log").focus()
    await agent.keyboard.press("n")
    await agent.keyboard.type("Ask @zo")
    await expect(agent.locator("#choices [role=option]")).to_have_text(["zoe@example.orgZoe"])
    await agent.keyboard.press("Tab")
    await expect(agent.get_by_label("Note")).to_have_value("Ask @zoe@example.org ")
    await agent.get_by_role("button", name="Add note").click()
    await expect(agent.locator("#notes .note")).to_contain_text("Ask @zoe@example.org")


async def test_ten_threads_are_worked_through(agent, door, workspace, crowd, browser):
    people = await crowd(10)
    await acts.add_reply(workspace, "Hello", "Hello{{name}}, how can I help?")
    async with visiting(browser) as another:
        await signed_in(another, door, workspace, "zoe@example.org", "agent")
    await agent.goto(f"{door}/inbox")
    await expect(agent).to_have_title("(10) Inbox · Leadwire")
    for visitor in people:
        await answered(agent, visitor)
    await expect(agent).to_have_title("Inbox · Leadwire")
    ended, undone, snoozed, assigned, noted, known, returned, *_ = people
    for visitor in (ended, undone):
        await opened(agent, visitor)
        await shortcut(agent, "e")
        await expect(agent.locator("#state")).to_contain_text("ends in a few seconds")
    await agent.get_by_role("button", name="Undo").click()
    await expect(agent.locator("#state")).not_to_contain_text("ends in a few seconds")
    await opened(agent, snoozed)
    await shortcut(agent, "s")  # for an hour
    await one_in(agent, snoozed, "snoozed")
    await opened(agent, assigned)
    await agent.get_by_label("Assign to").select_option("Zoe")
    await agent.get_by_role("button", name="Assign", exact=True).click()
    await one_in(agent, assigned, "theirs")
    await tagged_and_noted(agent, noted)
    await opened(agent, known)
    await agent.get_by_text("Add an e-mail address").click()
    await agent.get_by_label("E-mail").fill("ada@example.com")
    await agent.get_by_role("button", name="Save as a lead").click()
    await expect(agent.locator("#person")).to_contain_text("ada@example.com")
    await expect(agent.locator("#word")).to_contain_text("The visitor is a lead now.")
    await opened(agent, returned)
    await agent.get_by_label("More", exact=True).click()
    await agent.get_by_role("button", name="Return to queue").click()
    await one_in(agent, returned, "waiting")
    with clock.at(clock.now() + end_and_snooze.UNDO):
        await jobs.run("conversation_due", early=True)
    await expect(row(agent, ended)).to_have_count(0)
    assert [await value("status", one) for one in (ended, undone)] == ["ended", "handoff"]
    assert await value("tags", noted) == ["pricing"]
    assert await value("first_response_at", ended) is not None


async def test_colleagues_see_each_other_and_mentions(agent, door, workspace, crowd, browser):
    first, second = await crowd(2)
    mary = await db.value("SELECT id FROM user_account")
    await agent.goto(f"{door}/inbox?c={first.conversation}")
    async with visiting(browser) as another:
        zoe = await signed_in(another, door, workspace, "zoe@example.org", "agent")
        await zoe.goto(f"{door}/inbox?c={first.conversation}")
        await expect(agent.locator("#looking")).to_contain_text("Zoe looks at this, too.")
        await opened(zoe, second)
        await expect(agent.locator("#looking")).to_have_count(0)
        await acts.note(workspace, first.conversation, mary, "@zoe please")
        await expect(row(zoe, first)).to_contain_text("@ you")
        await opened(zoe, first)
        await expect(row(zoe, first)).not_to_contain_text("@ you")
        assert another.complaints == []


async def test_each_mention_is_read_where_it_is_seen(agent, door, workspace, crowd):
    """The second one, of the same messages, stayed unread until the page was loaded anew."""
    (visitor,) = await crowd(1)
    zoe = await make.user(workspace)
    await agent.goto(f"{door}/inbox?c={visitor.conversation}")
    for text in ("@mary please", "@mary once more"):
        await acts.note(workspace, visitor.conversation, zoe, text)
        await expect(agent.locator("#notes")).to_contain_text(text)
        await eventually(_read)


async def _read():
    return await db.value("SELECT count(*) FROM conversation_read WHERE mentioned_at IS NOT NULL") == 0


async def test_forms_are_merged_whatever_their_fields_are_called(agent, door, workspace, crowd, visit):
    (visitor,) = await crowd(1)
    await acts.tag(workspace, visitor.conversation, "vip")
    await agent.goto(f"{door}/inbox?c={visitor.conversation}")
    await expect(agent.get_by_label("Remove the tag vip")).to_be_visible()  # by a form with a field `remove`
    await acts.untag(workspace, visitor.conversation, "vip")
    await expect(agent.locator("#tags .chips")).to_have_count(0)
    await expect(row(agent, visitor)).not_to_contain_text("vip")
    assert await agent.evaluate(MERGED) == [True, "/second"]
    assert visit.complaints == []


async def test_the_keyboard_is_for_whoever_does_not_type(agent, door, crowd):
    first, second = await crowd(2)
    await agent.goto(f"{door}/inbox")
    for key, there in (("j", first), ("j", second), ("j", second), ("k", first)):
        await agent.keyboard.press(key)
        await expect(row(agent, there)).to_have_attribute("aria-current", "true")
    await expect(agent.get_by_role("button", name="Take", exact=True)).to_be_visible()
    await shortcut(agent, "a")
    await one_in(agent, first, "mine")
    answer = agent.get_by_label("Answer", exact=True)
    await agent.keyboard.press("r")
    await agent.keyboard.type("jake?")
    await expect(answer).to_have_value("jake?")
    await answer.press("Escape")
    await agent.keyboard.press("?")
    await expect(agent.get_by_role("dialog")).to_contain_text("Next and previous conversation")
    await agent.get_by_label("Use the keyboard").uncheck()
    await agent.get_by_role("button", name="Done").click()
    await agent.keyboard.press("e")
    await agent.reload()
    await agent.keyboard.press("e")
    await agent.keyboard.press("?")  # it shows how to switch them on
    await expect(agent.get_by_label("Use the keyboard")).not_to_be_checked()
    assert await value("end_due_at", first) is None


async def test_a_step_past_an_end_of_the_list_opens_nothing(agent, door, crowd):
    """The last one was opened anew, with the focus in its field: the next shortcuts were typed, and Enter sent them."""
    (visitor,) = await crowd(1)
    await agent.goto(f"{door}/inbox")
    await agent.keyboard.press("j")
    await expect(agent.get_by_role("button", name="Take", exact=True)).to_be_visible()
    await agent.route("**/inbox?c=*", lambda route: None)  # what is asked stays so
    for key in "jk":
        await agent.keyboard.press(key)
        await expect(row(agent, visitor)).to_have_attribute("aria-current", "true")
        assert await agent.locator("html[data-loading]").count() == 0, key


async def test_alerts_are_asked_for_and_say_no_more_than_allowed(agent, door, workspace, crowd):
    (mine,) = await crowd(1)
    name = nickname(mine.conversation)
    mary = await db.value("SELECT id FROM user_account")
    await acts.claim(workspace, mine.conversation, mary)
    await agent.add_init_script(RECORDER)
    await agent.goto(f"{door}/inbox")
    await agent.evaluate("away = true")
    await mine.says("Nobody is told of this")
    await expect(row(agent, mine)).to_contain_text("Nobody is told")
    await agent.get_by_role("button", name="Alerts and shortcuts").click()
    await agent.get_by_label("Desktop notifications").check()
    await agent.get_by_role("button", name="Done").click()
    await agent.reload()  # it is remembered
    await agent.evaluate("away = true")
    await mine.says("A secret of mine")
    await agent.wait_for_function("() => told.length === 1")
    await crowd(1)
    await agent.wait_for_function("() => told.length === 2")
    assert await agent.evaluate("told") == [["A visitor has answered", ""], ["A visitor waits for a person", ""]]
    await agent.get_by_role("button", name="Alerts and shortcuts").click()
    await agent.get_by_label("Show the visitor's name").check()
    await agent.get_by_role("button", name="Done").click()
    await mine.says("Words that may be shown")
    await agent.wait_for_function("() => told.length === 3")
    assert (await agent.evaluate("told"))[2] == ["A visitor has answered", f"{name}: Words that may be shown"]
    await expect(agent).to_have_title("(2) Inbox · Leadwire")


async def test_what_is_new_typed_and_seen(agent, door, workspace, crowd):
    (visitor,) = await crowd(1)
    for number in range(30):
        await conversations.add_message(workspace, visitor.conversation, "bot", f"Line {number}")
    await agent.goto(f"{door}/inbox?c={visitor.conversation}")
    await expect(row(agent, visitor)).to_have_attribute("data-unread", "0")  # it was read at its end
    log, newer = agent.locator("#log"), agent.get_by_role("button", name="New messages")
    await log.evaluate("log => { log.scrollTop = 40 }")
    await visitor.says("Something new")
    await expect(newer).to_be_visible()
    await expect(row(agent, visitor)).to_have_attribute("data-unread", "1")
    assert await log.evaluate("log => log.scrollTop") == 40
    await newer.click()
    await expect(log.get_by_text("Something new")).to_be_in_viewport()
    await expect(newer).to_be_hidden()
    await expect(row(agent, visitor)).to_have_attribute("data-unread", "0")
    pubsub.publish(workspace, visitor.conversation, "typing_visitor")
    await expect(agent.locator("#typing")).to_have_text("The visitor is typing…")
    with pubsub.hub.watch(workspace, visitor.conversation, ("typing_agent",)) as watch:
        await agent.get_by_label("Answer", exact=True).press_sequentially("Hi")
        assert (visitor.conversation, "typing_agent") in await watch.changed(240)
    await agent.get_by_label("Answer", exact=True).press("Enter")
    await expect(log).to_contain_text("Hi")
    last = await value("messages_count", visitor)
    await seen.by_visitor(workspace, visitor.conversation, last)
    await expect(log.locator("li.agent small")).to_contain_text("Seen")


async def test_tomorrow_is_tomorrow_where_the_person_is(browser, door, workspace, crowd):
    (visitor,) = await crowd(1)
    async with visiting(browser, timezone_id="Pacific/Auckland") as visit:
        page = await signed_in(visit, door, workspace, "mary@example.org", "agent")
        await page.goto(f"{door}/inbox?show=waiting&c={visitor.conversation}")
        await page.locator("summary", has_text="Snooze").click()
        await page.get_by_role("button", name="Until tomorrow, 9:00").click()
        await expect(page.locator("#state")).to_contain_text("Snoozed: it comes back")
        assert "show=waiting" in page.url
        until = (await value("snoozed_until", visitor)).astimezone(ZoneInfo("Pacific/Auckland"))
        today = clock.now().astimezone(ZoneInfo("Pacific/Auckland")).date()
        assert (until.hour, until.minute) == (9, 0)
        assert until.date() - today in (timedelta(days=1), timedelta(days=0))  # midnight may have passed meanwhile
        await page.get_by_role("link", name="All", exact=True).click()
        await one_in(page, visitor, "snoozed")
        await visitor.says("I have found it myself")
        await one_in(page, visitor, "mine")
        assert visit.complaints == []


async def test_enter_in_the_field_of_a_time_snoozes_until_then(agent, door, crowd):
    (visitor,) = await crowd(1)
    await agent.goto(f"{door}/inbox?c={visitor.conversation}")
    await agent.get_by_text("Snooze", exact=True).click()
    field, then = agent.locator("#snooze [name=at]"), f"{clock.now() + timedelta(days=3):%Y-%m-%dT08:15}"
    await field.fill(then)
    await field.press("Enter")
    await one_in(agent, visitor, "snoozed")
    there = await agent.evaluate("then => Date.parse(then) / 1000", then)
    assert (await value("snoozed_until", visitor)).timestamp() == there


async def test_on_a_phone_there_are_three_steps(browser, door, workspace, crowd):
    (visitor,) = await crowd(1)
    async with visiting(browser, viewport={"width": 390, "height": 844}, has_touch=True) as visit:
        page = await signed_in(visit, door, workspace, "mary@example.org", "agent")
        await page.goto(f"{door}/inbox")
        await row(page, visitor).tap()
        await expect(page.locator("#answer")).to_be_in_viewport()
        await expect(page.locator("#about")).to_be_hidden()
        await page.get_by_role("link", name="About the visitor").tap()
        await expect(page.locator("#about h2").first).to_be_in_viewport()
        await expect(page.locator("#log")).to_be_hidden()
        await page.get_by_label("Another tag").fill("phone")
        await page.get_by_role("button", name="Add tag").tap()
        await expect(page.locator("#tags")).to_contain_text("phone")
        await page.get_by_role("link", name="Back to the conversation").tap()
        await expect(page.locator("#log")).to_be_in_viewport()
        assert await page.evaluate("document.documentElement.scrollWidth - innerWidth") == 0
        assert visit.complaints == []
