"""A real browser: the system's Chromium. Without one these tests are skipped, and say so.

Its headless shell comes first, where there is one: the same engine without the rest of a browser, which takes a quarter
of the processor's time for a test.
"""

import asyncio
import contextlib
import shutil
from collections.abc import AsyncIterator
from typing import Any

import pytest
from playwright.async_api import Browser, BrowserContext, Page, Route, async_playwright, expect

from leadwire.domain.bots import changes as bots
from leadwire.domain.bots import reads
from leadwire.domain.bots.flow import library
from leadwire.domain.bots.schema import LiveBot
from leadwire.interfaces.widget import api, origins
from tests.browser.desk import signed_in, turning
from tests.browser.site import website
from tests.browser.visitor import Chat
from tests.delivery.wired import Wire
from tests.serving import served

expect.set_options(timeout=240_000)  # a machine may be busy; what is waited for comes

_NAMES = ("chromium-headless-shell", "chromium", "chromium-browser", "google-chrome")
_ALONE = [
    "--no-sandbox",  # as root there is none
    "--disable-gpu",
    "--no-first-run",
    "--disable-background-networking",
    "--disable-component-update",
    "--disable-sync",
]


@pytest.fixture(scope="session")
async def browser() -> AsyncIterator[Browser]:
    """One for the session."""
    found = next(filter(None, map(shutil.which, _NAMES)), None)
    if found is None:
        pytest.skip("needs Chromium: apt-get install chromium")
    async with async_playwright() as playwright:
        running = await playwright.chromium.launch(executable_path=found, args=_ALONE)
        try:
            yield running
        finally:
            await running.close()


# Chromium leaves out its own picture of a change from page to page where the next page comes too late, and says so.
_SKIPPED = "Transition was aborted because of invalid state. Page already revealed"


class Visit:
    """A browser with its own storage, and everything it complained of."""

    def __init__(self, context: BrowserContext) -> None:
        self.context = context
        self.complaints: list[str] = []

    async def page(self) -> Page:
        """Another tab."""
        page = await self.context.new_page()
        page.set_default_timeout(240_000)
        page.on(
            "console", lambda said: self.complaints.append(said.text) if said.type in ("error", "warning") else None
        )
        page.on("pageerror", lambda error: self.complaints.append(str(error)) if _SKIPPED not in str(error) else None)
        return page


# A page takes over an answer a while after it came, as on a busy machine: a test that goes on at once fails everywhere.
_LATE = """
const text = Response.prototype.text;
Response.prototype.text = async function () {
  const told = await text.call(this);
  await new Promise((resolve) => setTimeout(resolve, 150));
  return told;
};
"""


@contextlib.asynccontextmanager
async def visiting(browser: Browser, **options: object) -> AsyncIterator[Visit]:
    """A fresh browser context inside the block."""
    context = await browser.new_context(**options)  # type: ignore[arg-type]
    await context.add_init_script(_LATE)
    try:
        yield Visit(context)
    finally:
        await context.close()


async def held(page: Page, address: str) -> tuple[asyncio.Event, asyncio.Event]:
    """Hold what a page asks of an address. Return what is set once something has come, and what is to be set to let it
    go on.
    """
    asked, free = asyncio.Event(), asyncio.Event()

    async def hold(route: Route) -> None:
        asked.set()
        await free.wait()
        await route.continue_()

    await page.route(address, hold)
    return asked, free


@pytest.fixture
async def door(database: None) -> AsyncIterator[str]:
    """The app's address."""
    for limit in (api._STARTS, api._MESSAGES, api._GUESSES, origins._CALLS):
        limit._buckets.clear()
    async with served() as address:
        yield address


@pytest.fixture
async def visit(browser: Browser, door: str) -> AsyncIterator[Visit]:
    """A visitor's browser, gone before the app is. What it complained of is the test's failure."""
    async with visiting(browser) as opened:
        yield opened
        assert opened.complaints == []


@pytest.fixture
async def qualifier(workspace: str) -> LiveBot:
    """A live bot that finds out who is asking, shown by every website."""
    bot_id = await bots.create(workspace, "Qualifier")
    await bots.save_draft(workspace, bot_id, library.text("lead-qualification"))
    await bots.publish(workspace, bot_id)
    await bots.set_origins(workspace, bot_id, ["*"])
    return await reads.live(bot_id)


@pytest.fixture
async def chat(visit: Visit, door: str, qualifier: LiveBot) -> AsyncIterator[Chat]:
    """The chat on a website with a strict policy, not yet opened."""
    async with website(door, qualifier.id) as address:
        page = await visit.page()
        await page.goto(address)
        yield Chat(page)


@pytest.fixture
async def wire(redis: Any) -> AsyncIterator[Wire]:
    """The engine, with every hop run again and again."""
    async with Wire(redis) as wire, turning(wire):
        yield wire


@pytest.fixture
async def page(visit: Visit, door: str, workspace: str) -> Page:
    """A tab of a signed-in admin."""
    return await signed_in(visit, door, workspace, "ada@example.org")
