"""Webhooks in a browser: what a newcomer sets up, and what support finds out and sends again."""

import re

from playwright.async_api import expect

from leadwire.delivery import signing
from leadwire.domain.webhooks import rotation
from leadwire.infrastructure import db
from tests import make
from tests.browser.conftest import visiting
from tests.browser.desk import signed_in
from tests.delivery.wired import endpoint
from tests.waiting import eventually


async def test_a_newcomer_sees_what_would_come_and_the_first_live_event(page, workspace, bot, wire, receiver):
    await make.lead(workspace, bot)
    await page.get_by_role("link", name="Endpoints").click()
    async with page.expect_popup() as opened:
        await page.get_by_role("link", name="Events", exact=True).click()
    await expect((await opened.value).get_by_role("heading", name="lead.created")).to_be_visible()
    await page.get_by_role("link", name="Add your first endpoint").click()
    await page.get_by_label("Address").fill(receiver.url)
    await page.get_by_role("button", name="Next").click()
    await expect(page.locator(".event", has=page.get_by_label("lead.created"))).to_contain_text("1 in 7 days")
    await page.get_by_role("button", name="Create endpoint").click()
    await page.get_by_role("link", name="Next").click()
    await page.get_by_role("button", name="Send test").click()
    await expect(page.get_by_text("It works")).to_be_visible()
    await page.get_by_role("link", name="Next").click()
    await expect(page.locator("#preview")).to_contain_text("lead.created")
    await page.locator("#preview").get_by_role("link", name="7 days").click()
    await expect(page.locator("#preview [aria-current]")).to_have_text("7 days")
    await page.get_by_role("button", name="Enable").click()
    await expect(page.get_by_text("Waiting for the first event")).to_be_visible()
    await make.somebody(workspace, bot)
    await expect(page.get_by_text("The first event is here")).to_be_visible()


async def test_support_finds_out_why_a_webhook_failed_and_resends_it(page, door, workspace, bot, wire, receiver):
    receiver.answer, receiver.extra_headers = 500, "X-Trace: abc-1\r\n"
    made = await endpoint(workspace, receiver.url)
    lead = await make.lead(workspace, bot)
    (first,) = await receiver.received(1)
    await page.goto(f"{door}/deliveries")
    await page.get_by_label("Id of a lead, a conversation or an event").fill(lead.id)
    row = page.locator("table.rows tbody tr")
    await expect(row).to_have_count(1)
    await expect(row).to_contain_text("next")
    await row.locator("a.cover").click()
    await expect(page.get_by_text("Your server returned an error (500)")).to_be_visible()
    await page.get_by_text("Response headers").click()
    await expect(page.locator(".pairs.headers")).to_contain_text("abc-1")

    receiver.answer = 200
    await page.get_by_role("button", name="Retry now").click()
    await expect(page.locator("#top .pill")).to_have_text("Delivered")
    await page.get_by_text("Send again", exact=True).click()
    await page.get_by_role("button", name="Send it again").click()
    again = (await receiver.received(3))[2]
    assert (again.webhook_id, again.body, again.attempt) == (first.webhook_id, first.body, 1)
    secret, _ = await rotation.reveal(workspace, made.id)
    signed = signing.signatures(
        again.webhook_id, again.body, secret, "", int(again.headers["webhook-timestamp"]), "X-Service-"
    )
    assert {name.lower(): value for name, value in signed}["webhook-signature"] == again.headers["webhook-signature"]
    await expect(page.get_by_text("sent again 1")).to_be_visible()


async def test_new_deliveries_are_announced_and_no_row_moves(page, door, workspace, bot, wire, receiver):
    await endpoint(workspace, receiver.url)
    await make.somebody(workspace, bot)
    await eventually(lambda: db.value("SELECT count(*) FROM delivery_result"))
    await page.goto(f"{door}/deliveries")
    links = page.locator("table.rows a.cover")
    held = await links.first.get_attribute("href")
    await expect(page.locator("#news")).to_contain_text("Live")
    for _ in range(2):
        await make.somebody(workspace, bot)
    await expect(page.locator("#news a")).to_have_text("2 new")
    await expect(links).to_have_count(1)
    assert await links.first.get_attribute("href") == held
    await page.locator("#news a").click()
    await expect(links).to_have_count(3)
    await expect(page.locator("#news")).to_contain_text("Live")
    assert await links.last.get_attribute("href") == held


async def test_times_are_the_persons_and_sent_in_utc(browser, door, workspace, bot):
    async with visiting(browser, timezone_id="America/New_York") as visit:
        page = await signed_in(visit, door, workspace, "grace@example.org")
        await page.goto(f"{door}/deliveries?since=2026-01-02T03:04")
        await expect(page.get_by_label("From (your time)")).to_have_value("2026-01-01T22:04")
        await page.get_by_label("to (your time)").fill("2026-07-01T12:00")
        await expect(page).to_have_url(re.compile(r"since=2026-01-02T03%3A04Z&until=2026-07-01T16%3A00Z"))
        assert visit.complaints == []
