"""What is typed while the builder saves: it is saved, whatever is done next, and in the order in which it was done."""

import asyncio
from contextlib import asynccontextmanager, suppress

import pytest
from playwright.async_api import Error, expect

from leadwire.domain.bots import changes as bots
from leadwire.domain.bots import reads
from leadwire.domain.bots.builder import editing
from leadwire.domain.bots.changes import drafts
from leadwire.domain.bots.flow import library
from leadwire.domain.bots.flow.parse import read
from tests.browser.builder import Builder
from tests.waiting import eventually


@pytest.fixture
async def bot_id(workspace):
    """A bot with a greeting and an end."""
    made = await bots.create(workspace, "Greeter")
    await drafts.replace(workspace, made, library.BLANK)
    await drafts.edit(workspace, made, "user_ada", lambda draft: editing.add(draft, "end", "welcome", "next")[0])
    return made


async def text_of(workspace, bot_id):
    return editing.step(read((await reads.detail(workspace, bot_id)).draft), "welcome")["text"]


@asynccontextmanager
async def holding_the_first_save(page, builder):
    """Type and leave the field twice; the first is held, which the second waits for, until the block has ended."""
    held, free = asyncio.Event(), asyncio.Event()

    async def hold(route):
        held.set()
        await free.wait()
        with suppress(Error):  # the page was left
            await route.continue_()

    await page.route("**/steps/welcome", hold, times=1)
    await builder.field("Message").fill("First")
    await builder.field("Message").blur()
    await held.wait()
    await builder.field("Message").fill("Second")
    try:
        yield
    finally:
        free.set()


async def test_it_is_saved_when_another_step_is_chosen(page, door, workspace, bot_id):
    await page.goto(f"{door}/bots/{bot_id}?step=welcome")
    builder = Builder(page)
    async with holding_the_first_save(page, builder):
        await builder.step("End").click()
        await expect(builder.panel.get_by_role("heading", name="End", exact=True)).to_be_visible()
    await expect(builder.step("Message: Second")).to_be_visible()
    assert await text_of(workspace, bot_id) == "Second"
    await expect(builder.panel.get_by_role("heading", name="End", exact=True)).to_be_visible()


async def test_it_is_saved_when_the_page_is_left(page, door, workspace, bot_id):
    await page.goto(f"{door}/bots/{bot_id}?step=welcome")
    builder = Builder(page)
    async with holding_the_first_save(page, builder):
        await builder.field("Message").blur()
        await page.goto(f"{door}/leads")

        async def saved():
            return await text_of(workspace, bot_id) == "Second"

        await eventually(saved)


async def test_it_is_saved_before_an_undo_that_is_pressed_then(page, door, workspace, bot_id):
    await page.goto(f"{door}/bots/{bot_id}?step=welcome")
    builder = Builder(page)
    async with holding_the_first_save(page, builder):
        await builder.undo.click()
    await expect(builder.field("Message")).to_have_value("First")
    await expect(builder.redo).to_be_enabled()
    assert await text_of(workspace, bot_id) == "First"
    await expect(page.get_by_text("in another tab")).to_have_count(0)
