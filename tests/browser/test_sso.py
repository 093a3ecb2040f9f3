"""Somebody of the demo workspace signs in through a certified provider, and confirms a change there."""

import re

from playwright.async_api import expect

from leadwire.infrastructure import db
from leadwire_development.demo import seed
from tests.browser.desk import signed_in
from tests.oidc.certified import registered, running


async def passes(page, login):
    """Through the provider's own pages."""
    await page.get_by_placeholder("Enter any login").fill(login)
    await page.get_by_placeholder("and password").fill("any")
    await page.get_by_role("button", name="Sign-in").click()


async def test_from_the_sign_in_page_to_the_inbox_and_a_change_confirmed(visit, door, monkeypatch):
    monkeypatch.setattr(seed, "_CONVERSATIONS", 10)
    workspace = await seed.seed()
    # The provider's pages ask for a font elsewhere.
    await visit.context.route(re.compile(r"//(?!127\.)"), lambda route: route.fulfill(body="", content_type="text/css"))
    async with running() as issuer:
        provider = await registered(workspace, issuer, door, default_role="admin")
        admin = await signed_in(visit, door, workspace, "ada@example.org")
        await admin.goto(f"{door}/single-sign-on/{provider}")
        await admin.get_by_role("button", name="Test", exact=True).click()
        await expect(admin.locator("#test .pill.good")).to_have_count(4)
        await visit.context.clear_cookies()

        page = await visit.page()
        await page.goto(f"{door}/inbox")
        await page.get_by_role("link", name="Use single sign-on").click()
        await page.get_by_label("E-mail").fill("grace@example.org")
        await page.get_by_role("button", name="Continue").click()
        await page.get_by_role("link", name="Continue with Acme ID").click()
        await passes(page, "grace@example.org")
        await page.get_by_role("button", name="Continue").click()  # the first time it asks for consent
        await expect(page).to_have_title(re.compile("Inbox"))
        assert page.url == f"{door}/inbox"

        await page.goto(f"{door}/team")
        await page.get_by_label("E-mail").fill("new@example.org")
        await page.get_by_role("button", name="Create invitation link").click()
        async with visit.context.expect_page() as opened:
            await page.get_by_role("link", name="Sign in once more").click()
        tab = await opened.value
        await passes(tab, "grace@example.org")
        await expect(tab.locator("#word")).to_contain_text("Confirmed.")
        await page.get_by_role("button", name="Continue").click()
        await expect(page.get_by_role("heading", name="A link for new@example.org")).to_be_visible()
        assert await db.value("SELECT count(*) FROM invitation WHERE email = 'new@example.org'") == 1
