"""How much the most frequent work takes: every click, choice and key that does something is counted, and for a bot also
every field that is filled in.
"""

from playwright.async_api import expect

from leadwire.infrastructure import db
from tests import jobs, make
from tests.browser.builder import Builder
from tests.browser.desk import signed_in
from tests.browser.test_inbox_threads import people  # noqa: F401 - a fixture
from tests.delivery.wired import endpoint
from tests.domain.bots.conftest import live  # noqa: F401 - a fixture
from tests.waiting import eventually


class Hand:
    """What somebody does on a page; `done` counts it."""

    def __init__(self, page):
        self.page, self.done = page, 0

    async def clicks(self, name, role="button", inside=None):
        self.done += 1
        await (inside or self.page).get_by_role(role, name=name, exact=True).click()

    async def presses(self, key):
        self.done += 1
        await self.page.keyboard.press(key)

    async def writes(self, builder, label, text, inside=None):
        self.done += 1
        await builder.writes(label, text, inside)

    async def chooses(self, builder, label, option):
        self.done += 1
        await builder.chooses(label, option)


async def test_a_webhook_takes_eight_clicks(page, workspace, bot, wire, receiver):
    hand = Hand(page)
    await hand.clicks("Endpoints", "link")
    await hand.clicks("Add your first endpoint", "link")
    await page.get_by_label("Address").fill(receiver.url)
    await hand.clicks("Next")
    await hand.clicks("Create endpoint")
    await hand.clicks("Next", "link")
    await hand.clicks("Send test")
    await expect(page.get_by_text("It works")).to_be_visible()
    await hand.clicks("Next", "link")
    await hand.clicks("Enable")
    await expect(page.get_by_text("Waiting for the first event")).to_be_visible()
    assert hand.done == 8


async def test_the_cause_of_a_failure_takes_three(page, door, workspace, bot, wire, receiver):
    receiver.answer = 500
    await endpoint(workspace, receiver.url)
    await make.somebody(workspace, bot)
    await eventually(lambda: db.value("SELECT count(*) FROM attempt"))
    await page.goto(f"{door}/")
    hand = Hand(page)
    await hand.clicks("Deliveries", "link")
    hand.done += 1
    await page.locator("table.rows a.cover").first.click()
    await expect(page.get_by_text("Your server returned an error (500)")).to_be_visible()
    assert hand.done <= 3


async def test_a_first_answer_takes_two(visit, door, workspace, people):  # noqa: F811
    page = await signed_in(visit, door, workspace, "mary@example.org", "agent")
    hand = Hand(page)
    hand.done += 1
    await page.locator("a.thread").first.click()
    await page.keyboard.type("Good morning!")
    await hand.presses("Enter")
    await expect(page.locator("#log")).to_contain_text("Good morning!")
    assert hand.done == 2


async def test_a_lead_is_found_and_answered_with_three(visit, door, workspace, people):  # noqa: F811
    await jobs.run("search.take", "search")
    page = await signed_in(visit, door, workspace, "mary@example.org", "agent")
    await page.goto(f"{door}/leads")
    hand = Hand(page)
    await hand.presses("Control+k")
    await page.keyboard.type("grace@example")
    hand.done += 1
    await page.locator("#hits").get_by_role("region", name="Conversations").get_by_role("link").first.click()
    await expect(page.locator("#head h2")).to_have_text("grace@example.com")
    answer = page.get_by_label("Answer", exact=True)
    await expect(answer).to_be_focused()
    await answer.type("Here I am.")
    await hand.presses("Enter")
    await expect(page.locator("#log")).to_contain_text("Here I am.")
    assert hand.done == 3


async def test_a_bot_of_eight_steps_takes_twenty_five(page, workspace):
    hand, builder = Hand(page), Builder(page)
    await hand.clicks("Bots", "link")
    hand.done += 1
    await page.get_by_label("Name").fill("Greeter")
    await hand.clicks("Create bot")
    await hand.clicks("Question")
    await builder.has_settled()
    await hand.writes(builder, "Question", "What do you need?")
    await hand.chooses(builder, "Kind of answer", "Choose from answers")
    hand.done += 1
    await builder.field("Answer", builder.row("Answer 1")).select_text()
    for number, answer in enumerate(("A quote", "Help", "Only looking"), 1):
        await expect(builder.field("Answer", builder.row(f"Answer {number}"))).to_be_focused()
        await page.keyboard.type(answer)
        await hand.presses("Enter" if number < 3 else "Tab")
    await builder.has_settled()
    await hand.chooses(builder, "Then", "+ Ask for a person's details")
    await builder.opens("Question: And your phone")
    hand.done += 1
    await hand.chooses(builder, "Then", "+ Ask for consent")
    await hand.writes(builder, "Address of the page", "https://acme.test/privacy", builder.row("Button 1"))
    await hand.chooses(builder, "Then", "+ Talk to a person")
    await hand.writes(builder, "Message", "A colleague joins you in a minute.")
    await hand.chooses(builder, "If they hand it back", "+ End")
    await hand.writes(builder, "Message", "Goodbye!")
    await expect(builder.steps).to_have_count(8)
    await hand.clicks("Publish")
    await expect(page.get_by_text("Published: new conversations run version 1.")).to_be_visible()
    assert hand.done <= 25
