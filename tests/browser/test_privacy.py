"""Privacy in a browser: retention is previewed and saved, and a copy of what is known of a person can be printed."""

from playwright.async_api import expect

from leadwire.domain.privacy import retention
from tests.browser.conftest import visiting
from tests.browser.desk import signed_in
from tests.domain.privacy.test_retention import ended
from tests.interfaces.web.test_consents import visited


async def wide(page):
    return await page.evaluate("document.documentElement.scrollWidth > innerWidth")


async def test_retention_is_previewed_and_saved(page, visit, door, workspace, bot):
    for days in (50, 10):
        await ended(workspace, bot, days)
    await page.goto(f"{door}/privacy")
    await page.get_by_label("Other conversations").fill("30")
    await page.get_by_role("button", name="Preview").click()
    row = page.get_by_role("row", name="Other conversations")
    await expect(row).to_contain_text("30 days")
    await expect(row.get_by_role("cell").nth(1)).to_have_text("1")
    await page.get_by_role("button", name="Save").click()
    await expect(page.get_by_text("Saved.")).to_be_visible()
    await expect(page.get_by_label("Other conversations")).to_have_value("30")
    assert (await retention.kept(workspace))["conversations"] == 30


async def test_a_copy_of_what_is_known_is_readable_on_a_phone_and_on_paper(browser, door, workspace):
    lead = await visited(workspace)
    async with visiting(browser, viewport={"width": 390, "height": 800}) as visit:
        page = await signed_in(visit, door, workspace, "ada@example.org")
        await page.goto(f"{door}/leads/{lead}")
        assert not await wide(page)
        await page.get_by_role("button", name="Print view").click()
        await expect(page.get_by_role("heading", name="What is known of ada@example.com")).to_be_visible()
        await expect(page.get_by_text("Ada, may we send you news?").first).to_be_visible()
        assert not await wide(page)
        await page.emulate_media(media="print")
        assert len(await page.pdf()) > 10_000
        assert visit.complaints == []
