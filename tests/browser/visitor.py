"""What a visitor does with the widget, by what they see: names and roles, not our markup. Playwright looks into shadow
roots by itself."""

import re

from playwright.async_api import Page, expect


class Chat:
    """The widget on a page."""

    def __init__(self, page: Page) -> None:
        self.page = page
        self.dialog = page.get_by_role("dialog")
        self.log = page.get_by_role("log")
        self.lines = page.locator("leadwire-chat .line")
        self.launcher = page.locator("leadwire-chat .launcher")
        self.thinking = page.locator("leadwire-chat .dots:not([hidden])")
        self.field = self.dialog.get_by_role("textbox")

    async def open(self) -> None:
        """Press the launcher and wait for the bot's first words."""
        await self.launcher.click()
        await expect(self.dialog).to_be_visible()
        await expect(self.lines.first).to_be_visible()

    async def says(self, text: str) -> None:
        """Read what came, type and send."""
        await expect(self.thinking).to_have_count(0)  # the next question may bring another field
        await self.field.fill(text)
        await self.field.press("Enter")

    async def picks(self, label: str) -> None:
        """Press one of the answers offered."""
        await self.dialog.get_by_role("button", name=label, exact=True).click()

    async def hears(self, text: str) -> None:
        """Wait until this is in the conversation, once."""
        await expect(self.log.get_by_text(text, exact=True)).to_have_count(1)

    async def read(self) -> list[str]:
        """Everything said, in the order it is shown."""
        return await self.page.locator("leadwire-chat .text").all_inner_texts()

    async def role_of(self, text: str) -> str:
        """Who is shown to have said it."""
        line = self.lines.filter(has_text=re.compile(f"{re.escape(text)}"))
        return await line.get_attribute("data-role") or ""
