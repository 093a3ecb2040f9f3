"""What a term of ours means, beside where it is met: by pointer, by key, and without script."""

from playwright.async_api import expect

from leadwire.interfaces.web.rendering import TERMS
from tests.browser.conftest import visiting
from tests.browser.desk import signed_in


async def test_a_term_is_explained_by_pointer_and_by_key_without_script(browser, visit, door, workspace):
    page = await signed_in(visit, door, workspace, "ada@example.org")
    async with visiting(browser, java_script_enabled=False, storage_state=await page.context.storage_state()) as plain:
        page = await plain.page()
        await page.goto(f"{door}/deliveries?stage=dead")
        button, meaning = page.get_by_role("button", name="What “Dead letter” means"), page.locator("#help-dead_letter")
        await expect(meaning).to_be_hidden()
        await button.click()
        await expect(meaning).to_contain_text(TERMS["dead_letter"].text)
        await page.keyboard.press("Escape")
        await expect(meaning).to_be_hidden()
        await button.press("Enter")
        await expect(meaning).to_be_visible()
