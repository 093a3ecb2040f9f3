"""Where the widget's parts are on the screen, what can be read, and what the keyboard reaches."""

import contextlib
import importlib.resources

import pytest
from playwright.async_api import expect

from leadwire.domain.bots import changes as bots
from leadwire.domain.bots.flow import library
from leadwire.domain.conversations import changes as conversations
from leadwire.infrastructure import db
from tests.browser.conftest import visiting
from tests.browser.site import website
from tests.browser.visitor import Chat
from tests.domain.bots.conftest import desk, operators  # noqa: F401 - fixtures

SIZES = [(1440, 900), (1280, 720), (390, 844), (844, 390)]
COLORS = [
    "#d9f99d", "#fef9c3", "#ffffff", "#ffff00", "#00ffff", "#0f766e", "#4f46e5", "#000000", "#ff0000", "#777777",
    "#757575", "#7a7a7a", "#008000", "#b45309", "#f472b6", "#1e1b4b",
]  # fmt: skip
FIELD = 38  # pixels; less than its 40 while the panel opens


@pytest.fixture(params=["en", "ar"])
async def shown(request, workspace, qualifier):
    """The bot, whose widget speaks a language written from the left or from the right."""
    source = library.text("lead-qualification").replace('locale = "en"', f'locale = "{request.param}"')
    await bots.save_draft(workspace, qualifier.id, source)
    await bots.publish(workspace, qualifier.id)
    return qualifier


@contextlib.asynccontextmanager
async def shown_in(browser, door, bot, width, height):
    """The chat on a website, in a window of that size."""
    async with (
        website(door, bot.id) as address,
        visiting(browser, viewport={"width": width, "height": height}, reduced_motion="reduce") as visit,
    ):
        page = await visit.page()
        await page.goto(address)
        yield Chat(page)


@pytest.mark.parametrize(("width", "height"), SIZES)
async def test_all_of_it_is_on_the_screen(browser, door, shown, width, height):
    async with shown_in(browser, door, shown, width, height) as chat:
        await expect(chat.launcher).to_be_visible()
        await is_inside(chat.launcher, width, height)
        await chat.open()
        await expect(chat.dialog.get_by_role("button", name="Just looking")).to_be_visible()
        for part in (chat.dialog, chat.log, chat.field, *await chat.dialog.get_by_role("button").all()):
            await is_inside(part, width, height)


@pytest.mark.parametrize(("width", "height"), SIZES)
async def test_many_answers_leave_room_for_the_rest(browser, door, workspace, qualifier, width, height):
    options = ", ".join(f'{{ label = "{f"Answer {n}, which is a long one. " * 4}" }}' for n in range(20))
    await bots.save_draft(
        workspace, qualifier.id,
        f"""format = 1\nstart = "which"\n[[nodes]]\ntype = "ask"\nid = "which"\ntext = "Which one?"\ninput = "choice"
        options = [{options}]\nnext = "bye"\n[[nodes]]\ntype = "end"\nid = "bye"\n""",
    )  # fmt: skip
    await bots.publish(workspace, qualifier.id)
    async with shown_in(browser, door, qualifier, width, height) as chat:
        await chat.open()
        await expect(chat.dialog.get_by_role("button", name="Answer 19,")).to_be_attached()
        buttons = [chat.dialog.get_by_role("button", name=name) for name in ("Send", "Talk to a person", "Close chat")]
        for part in (chat.dialog, chat.log, chat.field, *buttons):
            await is_inside(part, width, height)
        whole, last = await chat.dialog.bounding_box(), await buttons[1].bounding_box()
        assert last["y"] + last["height"] <= whole["y"] + whole["height"]


async def is_inside(part, width, height):
    """Whether somebody sees the whole of a part of the widget."""
    box = await part.bounding_box()
    assert box["width"] >= 20
    assert box["height"] >= 20
    assert box["x"] >= 0
    assert box["y"] >= 0
    assert box["x"] + box["width"] <= width
    assert box["y"] + box["height"] <= height


async def test_the_last_words_stay_in_sight(browser, door, qualifier, desk):  # noqa: F811
    async with shown_in(browser, door, qualifier, 390, 844) as chat:
        await chat.open()
        await chat.picks("Talk to a person")
        for number in range(12):
            await chat.says(f"Line {number}, of which\nthere are two")
        last = chat.lines.filter(has_text="Line 11")
        await expect(last).to_be_in_viewport(ratio=1)
        await chat.field.fill("word " * 900)  # a higher field, and a word about it
        await expect(chat.dialog.get_by_role("status").get_by_text("Please shorten")).to_be_visible()
        await expect(last).to_be_in_viewport(ratio=1)
        await chat.field.fill("")
        await chat.dialog.get_by_role("button", name="End chat").click()
        await expect(chat.dialog.get_by_text("How was this chat?")).to_be_visible()
        await expect(last).to_be_in_viewport(ratio=1)
        await chat.lines.first.scroll_into_view_if_needed()
        await chat.dialog.get_by_role("button", name="5, Very good").click()
        await expect(chat.dialog.get_by_placeholder("Anything to add?")).to_be_visible()
        await expect(chat.lines.first).to_be_in_viewport()  # whoever reads what is above is left there


async def test_the_field_is_there_for_the_whole_conversation(chat, workspace, desk):  # noqa: F811
    async def field_is_there():
        await expect(chat.thinking).to_have_count(0)
        box = await chat.field.bounding_box()
        assert box["height"] >= FIELD
        assert box["width"] > 200

    await chat.open()
    await field_is_there()
    for picked, question in (("I am ready to start", "How many people"), ("51-200", "Where may we send")):
        await chat.picks(picked)
        await expect(chat.log).to_contain_text(question)
        await field_is_there()
    for said, answer in (("no address", "does not look like"), ("grace@navy.example", "what is your name"),
                         ("Grace", "Which company"), ("Navy", "getting a colleague")):  # fmt: skip
        await chat.says(said)
        await expect(chat.log).to_contain_text(answer)
        await field_is_there()
    await chat.says("Hello?\n" * 8)
    await expect(chat.log).to_contain_text("Hello?")
    await field_is_there()


async def test_talk_to_a_person_as_the_first_click(chat, desk):  # noqa: F811
    await chat.open()
    await chat.picks("Talk to a person")
    await chat.hears("I have asked a colleague to join. They will answer here.")
    assert (await chat.read())[2:] == ["Talk to a person", "I have asked a colleague to join. They will answer here."]
    await expect(chat.dialog).to_contain_text("A person has been asked to join")


async def test_addresses_are_links_and_nothing_else_is(chat, workspace, desk):  # noqa: F811
    await chat.open()
    await chat.picks("Talk to a person")
    await chat.hears("I have asked a colleague to join. They will answer here.")
    told = (
        "See https://example.com/a?b=1&c=%20#d, (http://example.org/x_(y)). javascript:alert(1) https:// ftp://a.example"
        ' <a href="https://evil.example">x</a> data:text/html,x HTTPS://EXAMPLE.NET.'
    )
    conversation = await db.value("SELECT id FROM conversation")
    await conversations.add_message(workspace, conversation, "agent", told)
    await chat.hears(told)
    links = chat.log.get_by_role("link")
    assert await links.evaluate_all("all => all.map(one => [one.textContent, one.target, one.rel])") == [
        [address, "_blank", "noopener noreferrer"]
        for address in (
            "https://example.com/a?b=1&c=%20#d", "http://example.org/x_(y))", "https://evil.example",
            "HTTPS://EXAMPLE.NET",
        )
    ]  # fmt: skip
    assert await links.evaluate_all("all => all.map(one => new URL(one.href).protocol)") == [
        "https:", "http:", "https:", "https:",
    ]  # fmt: skip


async def test_each_text_has_its_own_direction(chat):
    await chat.open()
    await expect(chat.dialog.get_by_role("button", name="Just looking")).to_be_visible()
    await chat.field.fill("مرحبا")
    direction = "one => getComputedStyle(one).direction"
    assert await chat.field.evaluate(direction) == "rtl"
    await chat.field.press("Enter")
    line = chat.log.get_by_text("مرحبا", exact=True)
    assert await line.evaluate(direction) == "rtl"
    assert await chat.lines.first.locator(".text").evaluate(direction) == "ltr"


@pytest.mark.parametrize("scheme", ["light", "dark"])
async def test_every_color_can_be_read(browser, door, qualifier, scheme):
    async with (
        website(door, qualifier.id) as address,
        visiting(browser, color_scheme=scheme, reduced_motion="reduce") as visit,
    ):
        page = await visit.page()
        await page.goto(address)
        chat = Chat(page)
        await chat.open()
        await chat.picks("Just looking")
        await expect(chat.dialog.get_by_role("button", name="1-10", exact=True)).to_be_visible()
        found = {color: await page.evaluate(CONTRASTS, color) for color in COLORS}
    assert {color: told for color, told in found.items() if min(told.values()) < 4.5} == {}


# What stands on what, as the browser has computed it and a canvas has painted it; by WCAG's formula.
CONTRASTS = """color => {
    const chat = document.querySelector('leadwire-chat')
    const of = (which) => getComputedStyle(chat.shadowRoot.querySelector(which))
    const canvas = document.createElement('canvas').getContext('2d', { willReadFrequently: true })
    const light = (css) => {
        canvas.fillStyle = css
        canvas.fillRect(0, 0, 1, 1)
        const [r, g, b] = [...canvas.getImageData(0, 0, 1, 1).data].slice(0, 3).map(c => c / 255)
            .map(c => c <= 0.04045 ? c / 12.92 : ((c + 0.055) / 1.055) ** 2.4)
        return 0.2126 * r + 0.7152 * g + 0.0722 * b
    }
    const contrast = (one, other) => {
        const [dark, bright] = [light(one), light(other)].sort((a, b) => a - b)
        return (bright + 0.05) / (dark + 0.05)
    }
    chat.paint(color)
    const top = of('.top'), paper = of('.panel').backgroundColor, told = {}
    for (const [at, shade] of top.backgroundImage.match(/(rgb|color|oklab)\\([^)]*\\)/g).entries()) {
        told[`title ${at}`] = contrast(top.color, shade)
    }
    for (const which of ['.line[data-role=user] .text', '.launcher', '.line[data-role=bot] .text']) {
        told[which] = contrast(of(which).color, of(which).backgroundColor)
    }
    told['offered answer'] = contrast(of('.picks button').color, paper)
    told['its border'] = contrast(of('.picks button').borderTopColor, paper)
    return told
}"""


async def test_the_keyboard_goes_through_the_answers_in_order(chat):
    press, focused = chat.page.keyboard.press, chat.page.locator("leadwire-chat :focus")
    await expect(chat.launcher).to_be_visible()  # what is hidden takes no focus
    await chat.launcher.focus()
    await press("Enter")
    await expect(chat.dialog.get_by_role("button", name="I want to see prices")).to_be_visible()
    for one in ("I want to see prices", "I am comparing tools", "I am ready to start"):
        await press("Tab")
        await expect(focused).to_have_text(one)
    await press("Enter")
    await expect(chat.dialog.get_by_role("button", name="1-10", exact=True)).to_be_visible()
    await press("Tab")
    await expect(focused).to_have_text("1-10")
    await chat.page.keyboard.type("11-50")  # who types, answers in the field
    await expect(chat.field).to_have_value("11-50")
    await expect(chat.field).to_be_focused()
    await press("Enter")
    await expect(chat.log).to_contain_text("Where may we send")
    await expect(chat.field).to_be_focused()


async def test_what_comes_by_itself_leaves_the_focus_of_the_page_alone(chat):
    await chat.open()
    await chat.page.get_by_role("link", name="Talk to us").focus()
    await chat.page.evaluate("document.querySelector('leadwire-chat').conversation.say('Just looking')")
    await expect(chat.dialog.get_by_role("button", name="1-10", exact=True)).to_be_visible()
    await expect(chat.page.get_by_role("link", name="Talk to us")).to_be_focused()


@pytest.mark.parametrize("scheme", ["light", "dark"])
async def test_axe_finds_nothing_and_the_page_gets_no_landmark(browser, door, shown, scheme):
    axe = (importlib.resources.files("axe_playwright_python") / "axe.min.js").read_text()
    async with (
        website(door, shown.id) as address,
        visiting(browser, bypass_csp=True, color_scheme=scheme, reduced_motion="reduce") as visit,
    ):
        page = await visit.page()
        await page.goto(address)
        chat = Chat(page)
        await chat.open()
        await chat.picks("Just looking")
        await expect(chat.dialog.get_by_role("button", name="1-10", exact=True)).to_be_visible()
        for landmark in ("banner", "main", "contentinfo", "navigation", "complementary"):
            await expect(page.get_by_role(landmark)).to_have_count(0)
        await page.evaluate(axe)
        told = await page.evaluate("axe.run('leadwire-chat').then(told => told.violations)")
    assert [(one["id"], one["nodes"][0]["target"]) for one in told] == []
