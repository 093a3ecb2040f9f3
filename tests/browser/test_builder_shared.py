"""One flow in two windows, of two people or of one, and in two views: nothing is overwritten without asking."""

import asyncio

import pytest
from playwright.async_api import expect

from leadwire.domain.bots import changes as bots
from leadwire.domain.bots import reads
from leadwire.domain.bots.changes import drafts
from leadwire.domain.bots.flow import library
from leadwire.domain.bots.flow.parse import read
from tests.browser.builder import Builder
from tests.browser.conftest import visiting
from tests.browser.desk import signed_in


@pytest.fixture
async def bot_id(workspace):
    """A bot with nothing but a greeting."""
    made = await bots.create(workspace, "Greeter")
    await drafts.replace(workspace, made, library.BLANK)
    return made


async def text_of(workspace, bot_id):
    return read((await reads.detail(workspace, bot_id)).draft)["nodes"][0]["text"]


async def test_two_people_edit_one_flow(redis, page, visit, browser, door, workspace, bot_id):
    ada = Builder(page)
    await page.goto(f"{door}/bots/{bot_id}")
    await ada.opens("Message: Hello!")
    await ada.chooses("Then", "+ End")
    async with visiting(browser) as other:
        theirs = await signed_in(other, door, workspace, "grace@example.org")
        await theirs.goto(f"{door}/bots/{bot_id}?step=welcome")
        grace = Builder(theirs)
        await expect(page.get_by_text("Grace is here too")).to_be_visible()
        await ada.opens("End: end")
        await ada.writes("Message", "Bye!")
        await expect(grace.step("End: Bye!")).to_be_visible()  # by itself
        await ada.opens("Message: Hello!")
        await ada.types("Message", "?")
        await grace.writes("Message", "Grace was here")
        await ada.field("Message").fill("Ada was here")
        await ada.field("Message").blur()
        await expect(ada.panel.get_by_text("changed this step while you did")).to_be_visible()
        await expect(ada.panel.get_by_text("Grace was here", exact=True)).to_be_visible()
        await expect(ada.field("Message")).to_have_value("Ada was here")
        assert await text_of(workspace, bot_id) == "Grace was here"
        await ada.panel.get_by_role("button", name="Save mine").click()
        await expect(ada.step("Message: Ada was here")).to_be_visible()
        await expect(grace.step("Message: Ada was here")).to_be_visible()
    visit.complaints = [told for told in visit.complaints if "409" not in told]


async def test_what_was_refused_stays_when_the_page_follows_a_change(
    redis, page, visit, browser, door, workspace, bot_id
):
    steps, free = f"**/bots/{bot_id}/steps/welcome", asyncio.Event()

    async def hold(route):
        await free.wait()
        await route.continue_()

    await page.goto(f"{door}/bots/{bot_id}?step=welcome")
    ada = Builder(page)
    await page.route(steps, hold)
    async with page.expect_request(steps):
        await ada.field("Message").press_sequentially("?")
    async with visiting(browser) as other:
        theirs = await signed_in(other, door, workspace, "grace@example.org")
        await theirs.goto(f"{door}/bots/{bot_id}?step=welcome")
        await Builder(theirs).writes("Message", "Grace was here")
    await ada.field("Message").fill(
        "Ada was here"
    )  # while the first is being saved: the whole panel comes with the next
    async with page.expect_response(lambda answer: answer.request.method == "GET" and "/live" not in answer.url):
        await ada.field("Message").blur()
        free.set()
    await expect(ada.panel.get_by_role("button", name="Save mine")).to_be_visible()
    await expect(ada.field("Message")).to_have_value("Ada was here")
    await ada.panel.get_by_role("button", name="Save mine").click()
    await expect(ada.step("Message: Ada was here")).to_be_visible()
    visit.complaints = [told for told in visit.complaints if "409" not in told]


async def test_two_people_edit_what_holds_for_the_whole_flow(redis, page, visit, browser, door, workspace, bot_id):
    """What one of them has typed and saved keeps their form as it is, and no change of the other is put back by it."""
    nobody, thanks = "Message when nobody of your team is there", "Message after an e-mail address is left"
    await page.goto(f"{door}/bots/{bot_id}?whole=1")
    ada = Builder(page)
    await ada.unfolds()
    await ada.writes(thanks, "Ada says thanks")
    await ada.writes(thanks, "Ada says thanks twice")  # a tab's own changes are no conflict
    async with visiting(browser) as other:
        theirs = await signed_in(other, door, workspace, "grace@example.org")
        await theirs.goto(f"{door}/bots/{bot_id}?whole=1")
        grace = Builder(theirs)
        await grace.unfolds()
        await grace.writes(nobody, "Grace is away")
    await expect(page.get_by_text("by grace")).to_be_visible()
    await ada.field(thanks).fill("Ada says thanks again")
    await ada.field(thanks).blur()
    await expect(ada.panel.get_by_text("changed this flow while you did")).to_be_visible()
    await expect(ada.panel.get_by_text("Grace is away", exact=True)).to_be_visible()
    draft = read((await reads.detail(workspace, bot_id)).draft)
    assert (draft["away_text"], draft["away_thanks_text"]) == ("Grace is away", "Ada says thanks twice")
    await ada.panel.get_by_role("link", name="Take theirs").click()
    await expect(ada.field(nobody)).to_have_value("Grace is away")
    await ada.unfolds()
    await ada.writes(thanks, "Ada says thanks after all")
    draft = read((await reads.detail(workspace, bot_id)).draft)
    assert (draft["away_text"], draft["away_thanks_text"]) == ("Grace is away", "Ada says thanks after all")
    visit.complaints = [told for told in visit.complaints if "409" not in told]


async def test_two_tabs_of_one_person(redis, page, visit, door, workspace, bot_id):
    await page.goto(f"{door}/bots/{bot_id}?step=welcome")
    here, other = Builder(page), await visit.page()
    await other.goto(page.url)
    there = Builder(other)
    await here.types("Message", "?")
    await there.writes("Message", "Written there")
    await there.writes("Message", "Written there twice")  # a tab's own changes are no conflict
    await here.field("Message").fill("Written here")
    await here.field("Message").blur()
    await expect(here.panel.get_by_text("You changed this step in another tab")).to_be_visible()
    await expect(here.panel.get_by_text("Written there twice", exact=True)).to_be_visible()
    await expect(here.field("Message")).to_have_value("Written here")
    assert await text_of(workspace, bot_id) == "Written there twice"
    await here.panel.get_by_role("link", name="Take theirs").click()
    await expect(here.field("Message")).to_have_value("Written there twice")
    await here.writes("Message", "Written here after all")
    assert await text_of(workspace, bot_id) == "Written here after all"
    visit.complaints = [told for told in visit.complaints if "409" not in told]


async def test_text_and_picture_are_one_draft_and_comments_stay(page, door, workspace, bot_id):
    await page.goto(f"{door}/bots/{bot_id}/text")
    source = library.BLANK.replace("[[nodes]]", "# The first words.\n[[nodes]]")
    await page.get_by_label("The flow").fill(source)
    await page.get_by_role("button", name="Save draft").click()
    await expect(page.get_by_text("The draft is saved.")).to_be_visible()
    await expect(page.get_by_text("'next' is missing.")).to_be_visible()
    await page.get_by_role("link", name="Flow", exact=True).click()
    builder = Builder(page)
    await builder.opens("Message: Hello!")
    await builder.writes("Message", "Hello from the picture")
    await page.get_by_role("link", name="Text", exact=True).click()
    expected = source.replace("Hello! How can we help you?", "Hello from the picture")
    await expect(page.get_by_label("The flow")).to_have_value(expected)


async def test_what_is_written_without_a_network_is_saved_later(page, visit, door, workspace, bot_id):
    await page.goto(f"{door}/bots/{bot_id}?step=welcome")
    builder = Builder(page)
    await visit.context.set_offline(True)
    await builder.field("Message").fill("Written without a network")
    await builder.field("Message").blur()
    await expect(page.get_by_text("No connection. Nothing is lost")).to_be_visible()
    assert await text_of(workspace, bot_id) == "Hello! How can we help you?"
    await visit.context.set_offline(False)
    await expect(builder.step("Message: Written without a network")).to_be_visible()
    assert await text_of(workspace, bot_id) == "Written without a network"
    visit.complaints.clear()


async def test_a_paste_that_is_too_long_is_told(page, door, bot_id):
    await page.goto(f"{door}/bots/{bot_id}?step=welcome")
    field = Builder(page).field("Message")
    await field.evaluate("""field => {
        const clipboardData = new DataTransfer()
        clipboardData.setData('text', 'x'.repeat(5e6))
        field.dispatchEvent(new ClipboardEvent('paste', { bubbles: true, clipboardData }))
    }""")
    await expect(page.get_by_text("At most 2,000 characters.")).to_be_visible()
