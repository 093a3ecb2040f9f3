"""A forgotten password in a browser: by the mailbox of `leadwire up` to another one."""

import pytest
from playwright.async_api import expect

from leadwire.domain.accounts.sign_in.changes import password_reset
from leadwire_development import mailbox
from tests.browser.conftest import visiting

ANOTHER = "nine slow green trains"


@pytest.fixture(autouse=True)
def _mail(set_mail, monkeypatch):
    """Mail is kept. The pages are where these browsers are."""
    set_mail("mailbox:", public_url="")
    monkeypatch.setattr(password_reset, "_TAKES", 0.0)


async def test_a_forgotten_password_is_replaced(browser, page, door):
    async with visiting(browser) as visit:
        stranger = await visit.page()
        await stranger.goto(f"{door}/sign-in")
        await stranger.get_by_role("link", name="Forgotten your password?").click()
        await stranger.get_by_label("E-mail").fill("ada@example.org")
        await stranger.get_by_role("button", name="Send the link").click()
        await expect(stranger.get_by_text("a mail is on its way")).to_be_visible()
        await stranger.goto(f"{door}{mailbox.path()}")
        await stranger.get_by_role("link", name="password reset").click()
        link = await stranger.get_by_role("link", name="reset-password").get_attribute("href")
        async with visit.context.expect_page() as opened:
            await stranger.get_by_role("link", name="As HTML").click()
        shown = await opened.value
        await expect(shown.get_by_role("link", name="Choose another password")).to_have_attribute("href", link)
        await stranger.goto(link)
        await stranger.get_by_label("New password").fill(ANOTHER)
        await stranger.get_by_role("button", name="Change password").click()
        await expect(stranger.get_by_label("E-mail")).to_have_value("ada@example.org")
        await stranger.get_by_label("Password").fill(ANOTHER)
        await stranger.get_by_role("button", name="Sign in").click()
        await expect(stranger).to_have_title("Overview · Leadwire")
        assert visit.complaints == []
    await page.reload()
    await expect(page).to_have_title("Sign in · Leadwire")
