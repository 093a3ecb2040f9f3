"""The documentation in a browser: search, light and dark, and an operation tried with a key of one's own."""

from playwright.async_api import expect

from tests import make
from tests.browser import still
from tests.browser.desk import COMPOSE


async def test_a_reader_searches_and_tries_an_operation(visit, door, workspace, bot, api_key):
    lead = await make.lead(workspace, bot, email="ada@example.com")
    page = await visit.page()
    await page.goto(f"{door}/docs")
    await page.keyboard.press("/")
    await page.keyboard.type("retrieve a lead")
    assert await page.evaluate(COMPOSE)
    await page.get_by_role("link", name="Retrieve a lead API reference").click()
    await expect(page).to_have_url(f"{door}/docs/reference#show_lead")

    await page.get_by_label("To try operations on this page").fill(api_key)
    article = page.locator("#show_lead")
    await article.get_by_text("Try it").click()
    await article.get_by_label("lead_id").fill(lead.id)
    await article.get_by_role("button", name="Send").click()
    await expect(article.get_by_role("status")).to_contain_text('"email": "ada@example.com"')

    await page.get_by_role("button", name="Switch between light and dark").click()
    assert await page.evaluate("document.documentElement.dataset.theme") == "dark"
    await page.reload()
    assert await page.evaluate("document.documentElement.dataset.theme") == "dark"


async def test_nothing_found_is_said(visit, door, workspace):
    page = await visit.page()
    await page.goto(f"{door}/docs/concepts")
    await page.get_by_role("searchbox").fill("xyzzy")
    await expect(page.get_by_text("Nothing found")).to_be_visible()


async def test_pages_hold_still_while_their_script_comes(visit, door, workspace):
    page = await visit.page()
    await page.set_viewport_size({"width": 390, "height": 844})
    await still.watch(page)
    for path in ("", "/start", "/reference"):
        await page.goto(f"{door}/docs{path}")
        await expect(page.get_by_role("searchbox")).to_be_visible()
        assert await still.moved(page) == []
        await page.get_by_text("Contents").click()
        await expect(page.get_by_role("link", name="Concepts", exact=True)).to_be_visible()
