"""Somebody in two workspaces goes from one to the other, by keyboard, on a desktop and on a phone."""

import pytest
from playwright.async_api import expect

from leadwire.domain.accounts import changes as accounts
from leadwire.domain.accounts.changes import team
from tests.browser.conftest import visiting
from tests.browser.desk import PASSWORD, signed_in

NAME = "Beta and sons, a workspace with a name that is longer than the menu is wide"


@pytest.mark.parametrize("width", [1440, 390])
async def test_a_person_joins_a_second_workspace_and_switches_by_keyboard(browser, door, workspace, width):
    beta = await accounts.create_workspace(NAME)
    async with visiting(browser, viewport={"width": width, "height": 800}) as visit:
        page = await signed_in(visit, door, workspace, "ada@example.org")
        await expect(page.locator(".switch")).to_have_count(0)
        await page.goto(f"{door}/join/{await team.invite(beta, 'ada@example.org', 'viewer')}")
        await page.get_by_role("link", name="Sign in to join with it").click()
        await page.get_by_label("Password").fill(PASSWORD)
        await page.get_by_role("button", name="Sign in").click()
        await expect(page).to_have_title("Overview · Leadwire")
        for there, name in (("viewer, " + NAME, "Test"), ("admin, Test", NAME)):
            if width < 760:
                await page.get_by_role("button", name="Menu").press("Enter")
            await expect(here := page.locator(".switch summary")).to_have_text(there)
            await here.press("Enter")
            await expect(page.get_by_role("button", name=name)).to_be_visible()
            assert await page.evaluate("document.documentElement.scrollWidth") <= width
            assert not await page.evaluate(
                "(menu => menu.scrollWidth > menu.clientWidth)(document.querySelector('#menu'))"
            )
            await here.press("Escape")
            await expect(page.get_by_role("button", name=name)).to_be_hidden()
            await expect(here).to_be_focused()
            await here.press("Enter")
            await page.keyboard.press("Tab")
            await page.keyboard.press("Enter")
            await expect(page.locator(".who small")).not_to_have_text(there)
            await expect(page).to_have_title("Overview · Leadwire")
        assert visit.complaints == []
