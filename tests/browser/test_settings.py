"""The web area in a browser: the first steps of a new user."""

import re

from playwright.async_api import expect

from leadwire.domain.accounts.changes import team
from leadwire.domain.webhooks import changes
from leadwire.infrastructure import db
from tests import make
from tests.browser.desk import PASSWORD, signed_in
from tests.delivery.wired import endpoint
from tests.waiting import eventually


async def test_five_steps_to_a_webhook(page, workspace, bot, wire, receiver):
    await page.get_by_role("link", name="Endpoints").click()
    await page.get_by_role("link", name="Add your first endpoint").click()
    await page.get_by_label("Address").fill("https://127.0.0.2/")
    await page.get_by_label("Address").press_sequentially("x")
    await expect(page.get_by_text("This address can be used")).to_be_visible()
    await page.get_by_label("Address").fill("ftp://example.com/")
    await expect(page.get_by_role("alert")).to_contain_text("cannot be used")
    await page.get_by_label("Address").fill(receiver.url)
    await page.get_by_role("button", name="Next").click()

    await page.get_by_label("message.sent", exact=True).uncheck()
    await page.get_by_role("button", name="Create endpoint").click()
    await expect(page.locator(".secret code")).to_have_text(re.compile("^whsec_.{40,}"))
    await page.get_by_role("link", name="Next").click()

    await page.get_by_role("button", name="Send test").click()
    await expect(page.get_by_text("It works")).to_be_visible()  # it shows up by itself
    await page.get_by_role("link", name="Next").click()
    await page.get_by_role("button", name="Enable").click()
    await expect(page.get_by_text("Events flow from now on")).to_be_visible()

    await make.lead(workspace, bot)
    events = {delivery.event for delivery in await receiver.received(4)}
    assert {"lead.created", "conversation.started", "message.received"} <= events
    assert "message.sent" not in events


async def test_why_a_delivery_failed_and_sending_it_again(page, door, workspace, bot, wire, receiver):
    receiver.answer = 410
    made = await endpoint(workspace, receiver.url)
    await make.lead(workspace, bot)
    await eventually(lambda: db.value("SELECT count(*) FROM every_delivery WHERE state = 'dead'"))
    await page.goto(f"{door}/deliveries?stage=dead")
    await expect(async_row := page.locator("table.rows tbody tr")).to_have_count(1)
    await async_row.locator("a.cover").click()
    await expect(page.get_by_text("it wants no more events", exact=False)).to_be_visible()

    receiver.answer = 200
    await changes.enable(workspace, made.id)
    await page.get_by_role("button", name="Send again").click()
    await expect(page.locator("#top .pill.good")).to_have_text("Delivered")  # live
    await expect(page.get_by_text("sent again 1")).to_be_visible()


async def test_an_edited_lead_is_heard_of(page, door, workspace, bot, wire, receiver):
    lead = await make.lead(workspace, bot)
    await endpoint(workspace, receiver.url, "lead.updated")
    await page.goto(f"{door}/leads/{lead.id}")
    await page.get_by_label("Company").fill("Analytical Engines")
    await page.get_by_role("button", name="Save").click()
    (delivery,) = await receiver.received(1)
    assert delivery.event == "lead.updated"
    assert b"Analytical Engines" in delivery.body


async def test_a_key_is_made_used_and_copied(page, door, client):
    await page.get_by_role("link", name="Settings").click()
    await page.get_by_role("link", name="API keys").click()
    await page.get_by_label("Name").fill("CRM")
    await page.get_by_role("button", name="Create key").click()
    key = await page.locator(".secret code").inner_text()
    assert (await client.get("/v1/leads", headers={"Authorization": f"Bearer {key}"})).status_code == 200
    await page.context.grant_permissions(["clipboard-read", "clipboard-write"])
    await page.get_by_role("button", name="Copy it").click()
    await expect(page.locator("#toast")).to_have_text("Copied")
    assert await page.evaluate("navigator.clipboard.readText()") == key


async def test_a_page_that_is_loaded_again_makes_no_second_key(page, door):
    """The browser sent the form anew: a key that nobody knew of, beside the one that was copied."""
    await page.goto(f"{door}/keys")
    await page.get_by_label("Name").fill("CRM")
    await page.get_by_role("button", name="Create key").click()
    await expect(page.locator(".secret code")).to_be_visible()
    await page.reload()
    await expect(page.get_by_role("heading", name="API keys")).to_be_visible()
    await expect(page.get_by_role("rowheader", name="CRM")).to_have_count(1)


async def test_without_javascript_every_step_is_there(browser, door, workspace, wire, receiver):
    context = await browser.new_context(java_script_enabled=False)
    page = await context.new_page()
    await page.goto(f"{door}/join/{await team.invite(workspace, 'mary@example.org', 'admin')}")
    await page.get_by_label("Your name").fill("Mary")
    await page.get_by_label("Password").fill(PASSWORD)
    await page.get_by_role("button", name="Create my account").click()
    await page.goto(f"{door}/webhooks/new")
    await page.get_by_label("Address").fill(receiver.url)
    await page.get_by_role("button", name="Next").click()
    await page.get_by_role("button", name="Create endpoint").click()
    await page.get_by_role("link", name="Next").click()
    await page.get_by_role("button", name="Send test").click()
    await receiver.received(1)
    while not await page.get_by_text("It works").count():
        await page.get_by_role("link", name="Look again").click()
    await page.get_by_role("link", name="Next").click()
    await page.get_by_role("button", name="Enable").click()
    assert await db.value("SELECT enabled FROM webhook_endpoint")
    await context.close()


async def test_the_keyboard_is_enough(page):
    await page.keyboard.press("Tab")
    await expect(page.locator(":focus")).to_have_text("Skip to content")
    await page.keyboard.press("Enter")
    await expect(page.locator(":focus")).to_have_attribute("id", "main")
    await page.goto(f"{page.url.split('#')[0]}keys")
    await page.get_by_label("Name").focus()
    await page.keyboard.type("By hand")
    await page.keyboard.press("Enter")
    await expect(page.get_by_role("heading", name="“By hand” is ready")).to_be_visible()


async def test_a_viewer_is_offered_nothing_that_changes(visit, door, workspace):
    page = await signed_in(visit, door, workspace, "mary@example.org", "viewer")
    await expect(page.get_by_role("link", name="Settings")).to_have_count(0)
    await page.get_by_role("link", name="Endpoints").click()
    await expect(page.get_by_text("An admin can add one")).to_be_visible()
    await expect(page.get_by_role("link", name="Add")).to_have_count(0)
