"""The inbox on a slow line: what is chosen is shown at once, and nothing is done to anybody else."""

import asyncio
import random
import re

import pytest
from playwright.async_api import expect

from leadwire.domain.bots.visitors import runtime
from leadwire.infrastructure import db
from leadwire.interfaces.web.faces import nickname
from tests.browser.desk import signed_in
from tests.browser.test_inbox_threads import belongs, opened, people, told  # noqa: F401 - a fixture
from tests.domain.bots.conftest import Visitor, live  # noqa: F401 - a fixture

SEND_AT = """
(address) => {
  history.replaceState({}, '', address)
  const form = document.querySelector('#answer')
  form.content.value = 'For Ada'
  form.requestSubmit()
  return document.querySelector('#toast').textContent
}
"""


@pytest.fixture
async def inbox(visit, door, workspace, people):  # noqa: F811
    page = await signed_in(visit, door, workspace, "mary@example.org", "agent")
    await page.goto(f"{door}/inbox")
    await expect(page.locator("a.thread")).to_have_count(2)
    return page


class Line:
    """Holds what is asked of one conversation until it is let go."""

    def __init__(self, page):
        self._page, self._free = page, asyncio.Event()

    async def hold(self, visitor):
        await self._page.route(f"**/inbox?c={visitor.conversation}", self._wait)

    async def _wait(self, route):
        await self._free.wait()
        await route.continue_()

    def release(self):
        self._free.set()


@pytest.fixture
def line(inbox):
    return Line(inbox)


def thread(inbox, visitor):
    return inbox.locator(f"#thread-{visitor.conversation}")


async def owned(inbox, visitor):
    """The whole page is of this visitor, who is the agent's now."""
    await expect(inbox.get_by_role("button", name="End", exact=True)).to_be_visible()
    await expect(inbox.locator("#about h2").first).to_have_text("grace@example.com")
    targets = await inbox.locator("#inbox form[method=post]").evaluate_all(
        "forms => forms.map(one => one.getAttribute('action'))"
    )
    assert {target.rpartition("/")[0] for target in targets} == {f"/inbox/{visitor.conversation}"}


async def said(visitor):
    rows = await db.rows(
        "SELECT content FROM message WHERE conversation_id = $1 AND role = 'agent' ORDER BY seq", visitor.conversation
    )
    return [row["content"] for row in rows]


async def test_what_is_typed_after_a_click_goes_to_whom_was_clicked(inbox, people, line):  # noqa: F811
    ada, grace = people["ada"], people["grace"]
    await opened(inbox, people, "ada")
    await line.hold(grace)
    await thread(inbox, grace).click()
    await expect(inbox.locator("#head h2")).to_have_text("grace@example.com")
    await expect(inbox.locator("#log")).to_be_empty()
    assert await inbox.locator("#inbox form[method=post]").count() == 1  # nothing of the other's is left to press
    await inbox.keyboard.type("Your refund is on its way, dear Grace!")
    async with inbox.expect_response("**/reply"):
        await inbox.keyboard.press("Enter")
    line.release()
    await expect(inbox.locator("#log")).to_contain_text("dear Grace!")
    await owned(inbox, grace)
    assert (await said(ada), await said(grace)) == ([], ["Your refund is on its way, dear Grace!"])


@pytest.mark.parametrize("first", ["ada", None])
async def test_nobody_is_interrupted_in_mid_word(inbox, people, line, first):  # noqa: F811
    grace = people["grace"]
    if first:
        await opened(inbox, people, first)
    await line.hold(grace)
    await thread(inbox, grace).click()
    await inbox.keyboard.type("Please see ou")
    line.release()
    await expect(inbox.locator("#log")).to_have_attribute("data-scroll", grace.conversation)
    await inbox.keyboard.type("r reply, we send it at once.")
    await expect(inbox.get_by_label("Answer", exact=True)).to_have_value("Please see our reply, we send it at once.")
    await belongs(inbox, people, "grace")
    assert await db.value("SELECT count(*) FROM conversation WHERE snoozed_until IS NOT NULL") == 0


async def test_answers_in_the_wrong_order_leave_what_was_chosen_last(inbox, people, line):  # noqa: F811
    await line.hold(people["grace"])
    await thread(inbox, people["grace"]).click()
    await opened(inbox, people, "ada")
    async with inbox.expect_response(f"**/inbox?c={people['grace'].conversation}"):
        line.release()
    await belongs(inbox, people, "ada")
    await inbox.go_back()
    await belongs(inbox, people, "grace")


async def test_a_form_of_another_conversation_is_not_sent(inbox, people):  # noqa: F811
    await opened(inbox, people, "ada")
    told = await inbox.evaluate(SEND_AT, f"/inbox?c={people['grace'].conversation}")
    assert "Nothing was done" in told
    assert await said(people["ada"]) == await said(people["grace"]) == []


async def test_without_a_connection_the_draft_is_kept(inbox, people, visit):  # noqa: F811
    grace, other = people["grace"], f"**/inbox?c={people['grace'].conversation}"
    await opened(inbox, people, "ada")
    await inbox.route(other, lambda route: route.abort())
    await thread(inbox, grace).click()
    await expect(inbox.locator("#toast")).to_contain_text("No connection")
    await inbox.keyboard.type("Half an answer")
    await inbox.unroute(other)
    await thread(inbox, grace).click()
    await belongs(inbox, people, "grace")
    await expect(inbox.get_by_label("Answer", exact=True)).to_have_value("Half an answer")
    visit.complaints.clear()  # the browser's, of the request that failed


async def test_what_was_chosen_without_a_connection_comes_with_it(inbox, people, visit):  # noqa: F811
    """It stayed empty, with a field to answer in, until somebody chose it once more."""
    other = f"**/inbox?c={people['grace'].conversation}"
    await opened(inbox, people, "ada")
    await inbox.route(other, lambda route: route.abort())
    await thread(inbox, people["grace"]).click()
    await expect(inbox.locator("#toast")).to_contain_text("No connection")
    await inbox.unroute(other)
    await belongs(inbox, people, "grace")
    visit.complaints.clear()  # the browser's, of the request that failed


async def test_what_was_refused_stays_when_the_visitor_writes(inbox, people, visit):  # noqa: F811
    await opened(inbox, people, "ada")
    await inbox.get_by_text("Correct", exact=True).click()
    email = inbox.locator("#about").get_by_label("E-mail")
    await email.fill("not@an@address")
    await inbox.evaluate("document.querySelector('#about form').noValidate = true")
    await inbox.get_by_role("button", name="Save").click()
    await expect(inbox.locator("#about .error")).to_be_visible()
    await told(inbox, people, "ada", "Are you there?")
    await expect(inbox.locator("#log")).to_contain_text("Are you there?")
    await expect(email).to_have_value("not@an@address")
    await expect(inbox.locator("#about .error")).to_be_visible()
    visit.complaints.clear()  # the browser's, of the answer that refused


async def test_a_sentence_that_nobody_asked_for_does_nothing(inbox, people):  # noqa: F811
    await opened(inbox, people, "ada")
    await inbox.locator("#log").focus()
    await inbox.keyboard.type("as said, I see each end anew ", delay=20)
    await inbox.keyboard.press("Enter")
    await inbox.keyboard.press("Space")
    assert await db.value("SELECT count(*) FROM conversation WHERE snoozed_until > now() OR end_due_at > now()") == 0
    assert await db.value("SELECT count(*) FROM conversation WHERE assigned_to IS NOT NULL") == 0
    await expect(inbox.locator("#snooze")).not_to_have_attribute("open", "")


async def shown(page):
    return await page.evaluate("new URLSearchParams(location.search).get('c')")


async def act(page, chance, names):
    """Something that a person may do in haste; return whose conversation it may have changed."""
    await page.keyboard.press("Escape") if chance.random() < 0.3 else None
    match chance.choice(("row", "row", "say", "say", "half", "next", "take", "snooze", "press")):
        case "row":
            chosen = chance.choice(list(names))
            await page.locator(f"#thread-{chosen}").click()
            await expect(page.locator("#head h2")).to_have_text(names[chosen])
            return None
        case "say" | "half" as how:
            await page.keyboard.type(f"{names.get(await shown(page), 'nobody')} ")
            acted = await shown(page)  # a letter may have been a shortcut to another one
            await page.keyboard.press("Enter" if how == "say" else "Space")
            return acted
        case "next":
            await page.keyboard.press(chance.choice("jk"))
            return None
        case "take" | "snooze" as deed:
            await page.keyboard.press(deed[0] if deed == "snooze" else "a")
            await page.keyboard.press("Enter")
        case "press" if await page.locator("#answer button").is_visible():
            await page.locator("#answer button").click(force=True)  # also while it is busy
    return await shown(page)


@pytest.mark.large
@pytest.mark.parametrize("latency", [1500, 3000])
async def test_two_hundred_acts_in_haste_are_of_the_one_shown(visit, door, workspace, live, latency):  # noqa: F811
    names, chance = {}, random.Random(latency)
    for _ in range(20):
        visitor = Visitor(live)
        await visitor.says("Hello there")
        await runtime.hand_off(await visitor.visit())
        names[visitor.conversation] = nickname(visitor.conversation)
    page = await signed_in(visit, door, workspace, "mary@example.org", "agent")
    await page.goto(f"{door}/inbox")
    network = await page.context.new_cdp_session(page)
    slow = {"offline": False, "latency": latency, "downloadThroughput": -1, "uploadThroughput": -1}
    await network.send("Network.emulateNetworkConditions", slow)
    acted = {await act(page, chance, names) for _ in range(200)}
    await network.send("Network.emulateNetworkConditions", slow | {"latency": 0})
    last = next(iter(names))
    await page.locator(f"#thread-{last}").click()
    await page.keyboard.type("The end")
    await page.keyboard.press("Enter")
    await expect(page.locator("#log")).to_contain_text("The end")  # changes are sent in their order: this is the last
    said = await db.rows("SELECT conversation_id, content FROM message WHERE role = 'agent'")
    for conversation, content in said:
        assert set(re.findall(r"[A-Z][a-z]+ \d+", content)) <= {names[conversation]}
    assert len(said) > 10
    changed = await db.rows("SELECT id FROM conversation WHERE assigned_to IS NOT NULL OR snoozed_until IS NOT NULL")
    assert {row["id"] for row in changed} <= acted | {last}
    visit.complaints.clear()  # the browser's, of answers that refused


async def test_an_answer_is_sent_once_though_nobody_heard_that_it_was(inbox, people, visit):  # noqa: F811
    """What the server has kept, and the agent sends again, is the same answer; the same words later are another."""

    async def lost(route):
        await route.fetch()
        await route.abort()

    field = inbox.get_by_label("Answer", exact=True)
    await opened(inbox, people, "ada")
    await inbox.route("**/reply", lost)
    await field.fill("Yes")
    await field.press("Enter")
    await expect(inbox.locator("#toast")).to_contain_text("No connection")
    await inbox.unroute("**/reply")
    for answers in (["Yes"], ["Yes", "Yes"]):
        await field.fill("Yes")
        await field.press("Enter")
        await expect(field).to_have_value("")
        assert await said(people["ada"]) == answers
    visit.complaints.clear()  # the browser's, of the request that failed
