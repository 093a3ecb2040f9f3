"""The password asked for in the middle of something: nothing that was filled in is lost."""

import re

from playwright.async_api import expect

from leadwire.domain.webhooks import changes
from leadwire.infrastructure import db
from tests import make
from tests.browser.desk import PASSWORD


async def time_passes():
    """Every session was last confirmed 11 minutes ago."""
    await db.rows("UPDATE user_session SET confirmed_at = confirmed_at - interval '11 minutes'")


async def confirms(page, visit):
    """A wrong password first, then the right one."""
    await expect(page.get_by_role("heading", name="Confirm it is you")).to_be_visible()
    assert "example" not in page.url.partition("//")[2].partition("/")[2]
    for password in ("a wrong one", PASSWORD):
        await page.get_by_label("Password").fill(password)
        await page.get_by_role("button", name="Continue").click()
        if password != PASSWORD:
            await expect(page.get_by_role("alert")).to_contain_text("The password is not right")
    visit.complaints = [told for told in visit.complaints if "422" not in told]  # the browser tells of the wrong one


async def test_the_events_that_were_ticked_are_kept(page, door, visit):
    await page.goto(f"{door}/webhooks/new?url=http%3A%2F%2F127.0.0.1%3A9001%2Fhook&next=1")
    for box in await page.get_by_role("checkbox").all():
        await box.uncheck()
    for kind in ("lead.updated", "message.received"):
        await page.get_by_label(kind, exact=True).check()
    await time_passes()
    await page.get_by_role("button", name=re.compile("^Create")).click()
    await confirms(page, visit)
    await expect(page.locator(".secret code")).to_be_visible()
    found = await db.row("SELECT url, events FROM webhook_endpoint")
    assert (found["url"], sorted(found["events"])) == (
        "http://127.0.0.1:9001/hook",
        ["lead.updated", "message.received"],
    )
    await page.go_back()  # to the form, not to an error of the browser, which offers to make another one
    await expect(page.get_by_role("heading", name="Which events should it receive?")).to_be_visible()


async def test_the_address_of_an_invitation_is_kept(page, door, visit):
    await page.goto(f"{door}/team")
    await page.get_by_label("E-mail").fill("new@example.net")
    await page.get_by_role("radio", name="admin").check()
    await time_passes()
    await page.get_by_role("button", name="Create invitation link").click()
    await confirms(page, visit)
    await expect(page.get_by_role("heading", name="A link for new@example.net")).to_be_visible()
    assert await db.value("SELECT role FROM invitation WHERE email = 'new@example.net'") == "admin"


async def test_a_form_that_the_page_sends_itself_is_kept(page, door, workspace, visit):
    made = await changes.create(workspace, "http://127.0.0.1:9001/old", ["lead.created"])
    await page.goto(f"{door}/webhooks/{made.id}/settings")
    await page.get_by_role("textbox", name="Address").fill("http://127.0.0.1:9001/other")
    await time_passes()
    await page.get_by_role("button", name="Save").click()
    await confirms(page, visit)
    await expect(page.locator("h1")).to_have_text("127.0.0.1:9001/other")
    assert page.url == f"{door}/webhooks/{made.id}/settings"


async def test_what_is_refused_afterwards_is_shown_as_typed(page, door, visit):
    await page.goto(f"{door}/team")
    await page.get_by_label("E-mail").fill("ada@example.org")
    await time_passes()
    await page.get_by_role("button", name="Create invitation link").click()
    await confirms(page, visit)
    await expect(page.locator("#refusal")).to_contain_text("has an account already")
    await expect(page.get_by_label("E-mail")).to_have_value("ada@example.org")
    visit.complaints = [told for told in visit.complaints if "409" not in told]


async def test_a_download_starts_from_the_page_it_was_on(page, door, workspace, bot, visit):
    await make.lead(workspace, bot)
    await page.goto(f"{door}/leads?score_min=0")
    await time_passes()
    await page.get_by_text("Export", exact=True).click()
    await page.get_by_role("button", name="CSV", exact=True).click()
    await confirms(page, visit)
    await expect(page.locator("#word")).to_contain_text("Your password is confirmed")
    assert page.url == f"{door}/leads?score_min=0"
    await page.get_by_text("Export", exact=True).click()
    async with page.expect_download() as download:
        await page.get_by_role("button", name="CSV", exact=True).click()
    assert (await download.value).suggested_filename.endswith(".csv")
