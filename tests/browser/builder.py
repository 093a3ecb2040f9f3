"""What a person does with the builder, by what they see: the words of its panel and the steps of its picture."""

import re

from playwright.async_api import Locator, Page, expect

# What is typed is saved when the field is left: the rest after the last letter does not end.
_ENDLESS = """() => {
  const { setTimeout } = window;
  window.setTimeout = (task, rest, ...values) => rest === 900 ? 0 : setTimeout(task, rest, ...values);
}"""


class Builder:
    """The builder on a page."""

    def __init__(self, page: Page) -> None:
        self.page = page
        self.panel = page.locator("#panel")
        self.steps = page.locator("svg.flow a[data-step]")
        self.undo = page.get_by_role("button", name="Undo", exact=True)
        self.redo = page.get_by_role("button", name="Redo", exact=True)

    def step(self, name: str) -> Locator:
        """A step of the picture by the beginning of its kind and text, such as `Question: What`."""
        return self.page.get_by_role("link", name=re.compile(f"^{re.escape(name)}")).and_(self.steps)

    async def opens(self, name: str) -> None:
        """Choose a step in the picture and wait for its panel."""
        await self.step(name).click()
        await expect(self.step(name)).to_have_attribute("aria-current", "true")
        await expect(self.panel.get_by_role("heading", name=name.partition(":")[0], exact=True)).to_be_visible()

    def field(self, label: str, inside: Locator | None = None) -> Locator:
        """A field by what stands above it."""
        named = self.page.locator("span", has_text=re.compile(rf"^{re.escape(label)}( optional)?$"))
        within = self.panel if inside is None else inside
        return within.locator("label").filter(has=named).locator("input, textarea, select")

    async def unfolds(self) -> None:
        """Open what is folded in the panel."""
        await self.panel.locator("details").evaluate_all("all => all.forEach(one => (one.open = true))")

    async def writes(self, label: str, text: str, inside: Locator | None = None) -> None:
        """Fill in a field and leave it; it is saved by itself."""
        field = self.field(label, inside)
        await field.fill(text)
        async with self.page.expect_response(lambda answer: answer.request.method == "POST"):
            await field.blur()
        await self.has_settled()

    async def types(self, label: str, text: str) -> None:
        """Type into a field and stay in it. It is not saved until it is left, however long that takes."""
        await self.page.evaluate(_ENDLESS)
        await self.field(label).press_sequentially(text)

    async def chooses(self, label: str, option: str, inside: Locator | None = None) -> None:
        """Choose from a list."""
        async with self.page.expect_response(lambda answer: answer.request.method == "POST"):
            await self.field(label, inside).select_option(label=option)
        await self.has_settled()

    async def has_settled(self) -> None:
        """Wait until the page has taken over what was answered, which is later than the answer."""
        await expect(self.page.locator("html[data-loading]")).to_have_count(0)

    def row(self, name: str) -> Locator:
        """One of a list's, such as `Answer 2`."""
        return self.panel.get_by_role("group", name=name, exact=True)
