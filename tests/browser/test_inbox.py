"""The inbox while much happens: what a person does is never undone by what comes by itself."""

import asyncio
import re

import pytest
from playwright.async_api import expect

from leadwire.domain.bots.visitors import runtime
from leadwire.domain.conversations.changes import inbox as changes
from leadwire.domain.conversations.pubsub import hub
from leadwire.infrastructure import db
from tests.browser.conftest import held
from tests.browser.desk import signed_in
from tests.domain.bots.conftest import live, visitor  # noqa: F401 - fixtures


@pytest.fixture
async def inbox(visit, door, workspace, visitor):  # noqa: F811
    """The inbox with one visitor who waits."""
    await visitor.says("Is anybody there?")
    await runtime.hand_off(await visitor.visit())
    page = await signed_in(visit, door, workspace, "ada@example.org", "agent")
    await page.goto(f"{door}/inbox")
    await expect(page.locator("a.thread")).to_have_count(1)
    return page


async def something_said(inbox, visitor):  # noqa: F811
    """The visitor sends a message, and the page has received it."""
    await inbox.evaluate("""() => new Promise(open => {
        const told = new EventSource('/inbox/live')
        told.onopen = open
        window.told = new Promise(done => told.addEventListener('changed', done))
    })""")
    await visitor.says("Hello?")
    await inbox.evaluate("async () => { await window.told }")


async def test_a_click_is_not_overtaken_by_a_live_change(inbox, visitor):  # noqa: F811
    asked, free = await held(inbox, "**/inbox?c=*")
    await inbox.locator("a.thread").click()
    await asked.wait()
    await something_said(inbox, visitor)
    free.set()
    await expect(inbox.locator("#log")).to_contain_text("Hello?")


async def test_what_happens_before_the_page_listens_is_shown(inbox, visitor):  # noqa: F811
    asked, free = await held(inbox, "**/inbox/live")
    await inbox.reload()
    await asked.wait()
    await visitor.says("Hello?")
    free.set()
    await expect(inbox.locator("a.thread")).to_contain_text("Hello?")


async def test_what_is_pressed_is_not_swapped_away(inbox, visitor):  # noqa: F811
    await inbox.locator("a.thread").hover()
    await inbox.mouse.down()
    await something_said(inbox, visitor)
    for _ in range(2):  # as long as taking over what is new would take
        await inbox.evaluate("async () => { await (await fetch('/inbox')).text() }")
    await inbox.mouse.up()
    await expect(inbox.locator("#log")).to_contain_text("Hello?")


async def test_the_focus_stays_on_a_thread(inbox, visitor):  # noqa: F811
    await inbox.locator("a.thread").focus()
    await visitor.says("Hello?")
    await expect(inbox.locator("a.thread")).to_contain_text("Hello?")
    await expect(inbox.locator("a.thread")).to_be_focused()


async def test_a_picked_reply_comes_behind_what_is_half_written(inbox, workspace):
    await changes.add_reply(workspace, "Hello", "How can I help?")
    await inbox.locator("a.thread").click()
    answer = inbox.get_by_label("Answer", exact=True)
    await answer.fill("Good morning.")
    await inbox.get_by_text("Saved replies").click()
    await inbox.get_by_role("link", name="Hello", exact=True).click()
    await expect(answer).to_have_value("Good morning.\nHow can I help?")
    await expect(answer).to_be_focused()


async def test_what_was_read_without_a_connection_is_told_later(inbox, visit, visitor):  # noqa: F811
    """It was told once: the conversation stayed unread, and its visitor unseen, until somebody wrote again."""
    lost = asyncio.Event()

    async def lose(route):
        await route.abort()
        lost.set()

    await inbox.route("**/seen", lose)
    await inbox.locator("a.thread").click()
    await lost.wait()
    await expect(inbox.locator("a.thread")).to_have_attribute("data-unread", "1")
    await inbox.unroute("**/seen")
    await inbox.evaluate("dispatchEvent(new Event('focus'))")
    await expect(inbox.locator("a.thread")).to_have_attribute("data-unread", "0")
    visit.complaints.clear()  # the browser's, of the request that failed


async def test_a_stream_that_a_proxy_refuses_comes_back(inbox, visit, visitor):  # noqa: F811
    """While a server starts again, its proxy answers: a browser gives up a stream for good then."""
    refused = asyncio.Event()

    async def refuse(route):
        await route.fulfill(status=502)
        refused.set()

    await inbox.route("**/inbox/live", refuse)
    await inbox.reload()
    await refused.wait()
    await inbox.unroute("**/inbox/live")
    await visitor.says("Hello?")
    await expect(inbox.locator("a.thread")).to_contain_text("Hello?")
    visit.complaints.clear()  # the browser's, of the answer that refused


async def test_what_a_proxy_says_takes_no_page_away(inbox, visit, visitor):  # noqa: F811
    await inbox.locator("a.thread").click()
    answer, note = inbox.get_by_label("Answer", exact=True), inbox.get_by_label("Note")
    await note.fill("Half a note")

    async def refuse(route):
        await route.fulfill(status=502, content_type="text/html", body="<h1>Bad gateway</h1>")

    await inbox.route("**/inbox*", refuse)
    await something_said(inbox, visitor)
    await expect(inbox.locator("#toast")).to_contain_text("No connection")
    await inbox.unroute("**/inbox*")
    await expect(inbox.locator("#log")).to_contain_text("Hello?")
    await inbox.route("**/reply", refuse)
    await answer.fill("Yes")
    await answer.press("Enter")
    await expect(inbox.locator("#toast")).to_contain_text("No connection")
    await expect(answer).to_have_value("Yes")
    await expect(note).to_have_value("Half a note")
    visit.complaints.clear()  # the browser's, of the answers that refused


async def test_a_page_whose_session_has_ended_asks_to_sign_in(inbox, visit, visitor):  # noqa: F811
    await something_said(inbox, visitor)
    await db.rows("DELETE FROM user_session")
    hub.wake_all()
    await expect(inbox).to_have_title(re.compile("Sign in"))
    visit.complaints.clear()  # the browser's, of a stream that was no longer one
