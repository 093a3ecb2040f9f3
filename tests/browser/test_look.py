"""How the chat looks and when it shows itself, as its owner has chosen."""

import contextlib
import importlib.resources

import pytest
from playwright.async_api import expect

from leadwire.domain.bots import changes as bots
from leadwire.domain.bots import reads
from leadwire.domain.bots.look import Look
from leadwire.infrastructure import db
from tests.browser.conftest import visiting
from tests.browser.site import website
from tests.browser.test_widget_look import is_inside
from tests.browser.visitor import Chat
from tests.waiting import eventually

# Whether nothing lies over the button that sends.
ON_TOP = """() => {
    const root = document.querySelector('leadwire-chat').shadowRoot
    const box = root.querySelector('.send').getBoundingClientRect()
    return root.elementFromPoint(box.x + box.width / 2, box.y + box.height / 2).closest('.send') !== null
}"""


@contextlib.asynccontextmanager
async def looking(browser, door, bot, look, color="#0f766e", path="/", **options):
    """The chat of a bot with this look, and the website's address."""
    await bots.set_look(bot.workspace, bot.id, look, color)
    async with website(door, bot.id) as address, visiting(browser, reduced_motion="reduce", **options) as visit:
        page = await visit.page()
        await page.goto(address + path)
        yield Chat(page), address
        assert visit.complaints == []


async def test_it_is_hidden_on_some_pages_and_a_link_opens_it_there(browser, door, qualifier):
    look = Look(hide_pages=("/checkout*", "*/thanks"))
    async with looking(browser, door, qualifier, look) as (chat, address):
        await expect(chat.launcher).to_be_visible()
        await chat.page.evaluate("history.pushState({}, '', '/checkout/cart')")  # as websites of one page do
        await expect(chat.launcher).to_be_hidden()
        await chat.page.evaluate("history.pushState({}, '', '/')")
        await expect(chat.launcher).to_be_visible()
        await chat.page.goto(f"{address}/order/thanks")
        await expect(chat.page.locator("leadwire-chat[theme]")).to_have_count(1)  # it knows how it looks
        await expect(chat.launcher).to_be_hidden()
        await chat.page.get_by_role("link", name="Talk to us").click()
        await expect(chat.dialog).to_be_visible()


async def test_a_greeting_opens_the_chat_or_is_dismissed_for_good(browser, door, qualifier):
    look = Look(greeting="Shall we look at prices?", greeting_after=0, greeting_pages=("/pricing*",))
    axe = (importlib.resources.files("axe_playwright_python") / "axe.min.js").read_text()
    async with looking(browser, door, qualifier, look, path="/pricing", bypass_csp=True) as (chat, address):
        greeting = chat.page.get_by_role("button", name="Shall we look at prices?")
        await expect(greeting).to_be_visible()
        await chat.page.evaluate(axe)
        told = await chat.page.evaluate("axe.run('leadwire-chat').then(told => told.violations.map(one => one.id))")
        assert told == []
        await chat.page.goto(address)
        await expect(chat.launcher).to_be_visible()
        await expect(greeting).to_be_hidden()
        await chat.page.goto(f"{address}/pricing/yearly")
        await chat.page.get_by_role("button", name="Dismiss").click()
        await expect(greeting).to_be_hidden()
        await expect(chat.launcher).to_be_focused()
        await chat.page.reload()
        await expect(chat.launcher).to_be_visible()
        await expect(greeting).to_be_hidden()
        await chat.page.evaluate("localStorage.clear()")
        await chat.page.reload()
        await greeting.click()
        await expect(chat.dialog).to_be_visible()


async def test_it_opens_by_itself_once_and_not_on_phones(browser, door, qualifier):
    look = Look(opens=True, open_after=0)
    async with looking(browser, door, qualifier, look) as (chat, _):
        await expect(chat.dialog).to_be_visible()
        assert await chat.page.evaluate("document.activeElement === document.body")
        await chat.dialog.get_by_role("button", name="Close chat").click()
        await chat.page.reload()
        await expect(chat.launcher).to_be_visible()
        await expect(chat.dialog).to_be_hidden()
    phone = {"viewport": {"width": 390, "height": 844}}
    async with looking(browser, door, qualifier, look, **phone) as (chat, _):
        await expect(chat.launcher).to_be_visible()
        await expect(chat.dialog).to_be_hidden()
    look = Look(opens=True, open_after=0, open_on_phones=True)
    async with looking(browser, door, qualifier, look, **phone) as (chat, _):
        await expect(chat.dialog).to_be_visible()


async def test_axe_finds_nothing_at_the_end(browser, door, qualifier):
    axe = (importlib.resources.files("axe_playwright_python") / "axe.min.js").read_text()
    look = Look(theme="dark", avatar="LW", launcher="Questions?")
    async with looking(browser, door, qualifier, look, "#d9f99d", bypass_csp=True) as (chat, _):
        await chat.open()
        await chat.picks("Just looking")
        await expect(chat.dialog.get_by_role("button", name="1-10", exact=True)).to_be_visible()
        await chat.dialog.get_by_role("button", name="End chat").click()
        await chat.dialog.get_by_role("button", name="5, Very good").click()
        await expect(chat.dialog.get_by_role("textbox", name="Anything to add?")).to_be_visible()
        await chat.page.evaluate(axe)
        told = await chat.page.evaluate("axe.run('leadwire-chat').then(told => told.violations.map(one => one.id))")
    assert told == []


@pytest.mark.parametrize(("width", "height"), [(1440, 900), (390, 844), (844, 390)])
@pytest.mark.parametrize("side", ["left", "right"])
async def test_everywhere_it_may_be_is_on_the_screen(browser, door, qualifier, side, width, height):
    look = Look(side=side, x=200 if width > 480 else 20, y=200, language="ar", launcher="Questions?", avatar="LW")
    size = {"width": width, "height": height}
    async with looking(browser, door, qualifier, look, "#d9f99d", viewport=size) as (chat, _):
        await expect(chat.launcher).to_be_visible()
        box = await chat.launcher.bounding_box()
        gap = box["x"] if side == "left" else width - box["x"] - box["width"]
        assert gap == look.x
        assert height - box["y"] - box["height"] == look.y
        await chat.open()
        for part in (chat.dialog, chat.field, chat.dialog.get_by_role("button", name="إرسال")):
            await is_inside(part, width, height)
        assert await chat.dialog.get_attribute("dir") == "rtl"
        heading = chat.dialog.get_by_role("heading")
        assert await heading.evaluate("one => getComputedStyle(one).textAlign") == "right"
        assert await chat.page.evaluate(ON_TOP)


async def test_it_speaks_the_language_of_the_browser(browser, door, qualifier):
    async with looking(browser, door, qualifier, Look(language="browser", title="Hallo"), locale="nl-NL") as (chat, _):
        await chat.open()
        await expect(chat.dialog.get_by_role("button", name="Met een mens praten")).to_be_visible()
        await expect(chat.dialog).to_have_accessible_name("Hallo")
        assert await chat.dialog.get_attribute("lang") == "nl"


async def test_a_page_costs_one_small_request(browser, door, qualifier):
    async with website(door, qualifier.id) as address, visiting(browser) as visit:
        page, asked = await visit.page(), []
        page.on("request", lambda one: asked.append(one.url.removeprefix(door)) if one.url.startswith(door) else None)
        await page.goto(address)
        await expect(Chat(page).launcher).to_be_visible()
        config = f"/widget/v1/bots/{qualifier.id}"
        assert sorted(asked) == ["/widget/v1.js", config, f"{config}/counts"]
        await page.goto(f"{address}/next")
        await expect(Chat(page).launcher).to_be_visible()
        assert asked.count(config) == 2
        assert asked.count(f"{config}/counts") == 1  # once a tab
        assert await page.context.cookies() == []


async def test_what_a_visitor_thinks_is_stored(chat, visit):
    await chat.open()
    await chat.picks("Just looking")
    await expect(chat.dialog.get_by_role("button", name="1-10", exact=True)).to_be_visible()
    await chat.dialog.get_by_role("button", name="End chat").click()
    await expect(chat.dialog.get_by_text("How was this chat?")).to_be_visible()
    await chat.dialog.get_by_role("button", name="4", exact=True).click()
    await expect(chat.dialog.get_by_role("button", name="4", exact=True)).to_have_attribute("aria-pressed", "true")
    comment = chat.dialog.get_by_role("textbox", name="Anything to add?")
    await expect(comment).to_be_focused()
    await eventually(lambda: db.value("SELECT rating = 4 AND rating_comment IS NULL FROM conversation"))
    await comment.fill("Quick and kind")
    await chat.dialog.get_by_role("button", name="Send").click()
    await expect(chat.dialog.get_by_text("Thank you for your rating.")).to_be_visible()
    await eventually(lambda: db.value("SELECT rating = 4 AND rating_comment = 'Quick and kind' FROM conversation"))
    await chat.page.reload()
    await expect(chat.dialog.get_by_text("Thank you for your rating.")).to_be_visible()
    await chat.dialog.get_by_role("button", name="Start a new chat").click()
    await expect(chat.field).to_be_visible()


async def test_the_question_at_the_end_can_be_switched_off(browser, door, qualifier):
    async with looking(browser, door, qualifier, Look(rating=False)) as (chat, _):
        await chat.open()
        await chat.picks("Just looking")
        await expect(chat.dialog.get_by_role("button", name="1-10", exact=True)).to_be_visible()
        await chat.dialog.get_by_role("button", name="End chat").click()
        await expect(chat.dialog.get_by_role("button", name="Start a new chat")).to_be_visible()
        await expect(chat.dialog.get_by_text("How was this chat?")).to_be_hidden()


async def test_a_look_reaches_the_visitors_answer(workspace, qualifier):
    await bots.set_look(workspace, qualifier.id, Look(theme="dark"), "#FFFFFF")
    live = await reads.live(qualifier.id)
    assert (live.look, live.color) == (Look(theme="dark"), "#ffffff")
