"""The builder in a browser: somebody who knows no TOML builds a bot, and a visitor talks to it."""

import asyncio
import importlib.resources
from urllib.parse import parse_qs

import pytest
from playwright.async_api import expect

from leadwire.domain.bots import changes as bots
from leadwire.domain.bots import reads
from leadwire.domain.bots.builder import editing
from leadwire.domain.bots.builder.rewriting import written
from leadwire.domain.bots.changes import drafts
from leadwire.domain.bots.flow import library
from leadwire.domain.bots.flow.nodes import KINDS
from leadwire.domain.bots.flow.parse import parse, read
from leadwire.infrastructure import db
from tests.browser.builder import Builder
from tests.browser.conftest import visiting
from tests.browser.desk import signed_in
from tests.browser.site import website
from tests.browser.visitor import Chat
from tests.waiting import eventually

_ASK = "axe.run().then(told => told.violations.map(one => [one.id, one.nodes[0].html]))"


@pytest.fixture
async def bot_id(workspace):
    """A bot with nothing but a greeting."""
    made = await bots.create(workspace, "Greeter")
    await drafts.replace(workspace, made, library.BLANK)
    return made


async def draft_of(workspace, bot_id):
    return read((await reads.detail(workspace, bot_id)).draft)


async def test_a_bot_is_built_from_blank_by_clicking_and_a_visitor_talks_to_it(page, visit, door, workspace):
    await page.goto(f"{door}/bots")
    await page.get_by_label("Name").fill("Greeter")
    await page.get_by_role("button", name="Create bot").click()
    builder = Builder(page)
    await builder.opens("Message: Hello!")
    await builder.writes("Message", "Hi there!")
    await builder.chooses("Then", "+ Question")

    await expect(builder.panel.get_by_role("heading", name="Question", exact=True)).to_be_visible()
    await builder.writes("Question", "What do you need?")
    await builder.chooses("Kind of answer", "Choose from answers")
    await builder.writes("Answer", "A quote", builder.row("Answer 1"))
    await builder.writes("Answer", "Help", builder.row("Answer 2"))
    await builder.chooses("Then", "+ Decision")

    await expect(builder.panel.get_by_role("heading", name="Decision", exact=True)).to_be_visible()
    way = builder.row("Way 1")
    await builder.chooses("What", "question: What do you need?", way)
    await builder.chooses("Comparison", "is", way)
    await builder.chooses("Value", "A quote", way)
    await builder.chooses("Leads to", "+ Question", way)
    await builder.chooses("Otherwise", "+ Talk to a person")

    await expect(builder.panel.get_by_role("heading", name="Talk to a person", exact=True)).to_be_visible()
    await builder.writes("Message", "A colleague will help you here.")
    await expect(page.get_by_text("to finish")).to_be_visible()
    await builder.opens("Question: question-2")
    await builder.writes("Question", "Where can we write to you?")
    await builder.chooses("Kind of answer", "E-mail address")
    await expect(builder.field("Save the answer as")).to_have_value("email")
    await builder.chooses("Then", "Talk to a person: A colleague will help you here.")

    await expect(builder.steps).to_have_count(5)
    await page.get_by_role("button", name="Publish").click()
    await expect(page.get_by_text("Published: new conversations run version 1.")).to_be_visible()
    await expect(page.get_by_role("button", name="Fit")).to_be_visible()
    bot_id = await db.value("SELECT id FROM bot")
    parse((await reads.detail(workspace, bot_id)).draft)

    await bots.set_origins(workspace, bot_id, ["*"])
    async with website(door, bot_id) as address:
        shop = await visit.page()
        await shop.goto(address)
        chat = Chat(shop)
        await chat.open()
        await chat.hears("Hi there!")
        await chat.hears("What do you need?")
        await chat.picks("A quote")
        await chat.hears("Where can we write to you?")
        await chat.says("grace@example.com")
        await chat.hears("A colleague will help you here.")
    assert await db.value("SELECT email FROM lead") == "grace@example.com"


async def test_what_was_done_is_undone_and_done_again(page, door, workspace, bot_id):
    await page.goto(f"{door}/bots/{bot_id}")
    builder = Builder(page)
    await expect(builder.undo).to_be_disabled()
    await builder.opens("Message: Hello!")
    await builder.writes("Message", "Good morning")
    await builder.chooses("Then", "+ End")
    await expect(builder.steps).to_have_count(2)
    await builder.undo.click()
    await expect(builder.steps).to_have_count(1)
    await page.reload()  # what can be undone is kept
    await builder.undo.click()
    await expect(builder.step("Message: Hello!")).to_be_visible()
    await expect(builder.undo).to_be_disabled()
    await builder.redo.click()
    await expect(builder.step("Message: Good morning")).to_be_visible()
    await builder.redo.click()
    await expect(builder.steps).to_have_count(2)
    assert [one["id"] for one in (await draft_of(workspace, bot_id))["nodes"]] == ["welcome", "end"]


async def test_a_list_of_a_condition_stays_when_another_field_of_its_step_is_changed(page, door, workspace, bot_id):
    await drafts.replace(workspace, bot_id, library.text("lead-qualification"))
    before = editing.step(await draft_of(workspace, bot_id), "fit")["rules"]
    await page.goto(f"{door}/bots/{bot_id}?step=fit")
    builder = Builder(page)
    rule = builder.row("Rule 2")
    await builder.writes("Points", "25", rule)
    [first, second] = editing.step(await draft_of(workspace, bot_id), "fit")["rules"]
    assert [first, second] == [before[0], before[1] | {"add": 25}]
    value = builder.field("Value", rule).last
    await expect(value).to_have_value("51-200\n201+")
    await value.fill("51-200\nMore, much more")
    async with page.expect_response(lambda answer: answer.request.method == "POST"):
        await value.blur()
    [_, second] = editing.step(await draft_of(workspace, bot_id), "fit")["rules"]
    assert second["when"]["all"][1]["value"] == ["51-200", "More, much more"]


async def test_by_keyboard_alone(page, door, workspace, bot_id):
    await drafts.replace(workspace, bot_id, library.text("support-triage"))
    await page.goto(f"{door}/bots/{bot_id}")
    builder = Builder(page)
    many = await builder.steps.count()
    await builder.step("Question: Hi!").focus()
    await page.keyboard.press("ArrowDown")
    below = await page.evaluate("document.activeElement.dataset.step")
    assert below != "hello"
    await page.keyboard.press("ArrowUp")
    await expect(builder.step("Question: Hi!")).to_be_focused()
    await page.keyboard.press("Enter")
    await expect(builder.field("Question")).to_be_focused()
    await page.keyboard.press("Control+A")
    await page.keyboard.type("How can I help?")
    await page.keyboard.press("Escape")
    await expect(builder.step("Question: How can I help?")).to_be_focused()
    await page.keyboard.press("ArrowDown")
    await page.keyboard.press("Delete")
    await expect(builder.steps).to_have_count(many - 1)
    await page.keyboard.press("Control+z")
    await expect(builder.steps).to_have_count(many)
    draft = await draft_of(workspace, bot_id)
    assert draft["nodes"][0]["text"] == "How can I help?"
    assert below in {one["id"] for one in draft["nodes"]}


async def test_keys_that_are_pressed_before_an_answer_comes_are_not_lost(page, door, workspace, bot_id):
    """Whichever of two changes a server would serve first, they are made in the order of the keys."""
    await drafts.replace(workspace, bot_id, library.text("support-triage"))
    await page.goto(f"{door}/bots/{bot_id}")
    builder, held, free = Builder(page), [], asyncio.Event()
    many = await builder.steps.count()

    async def hold(route):
        if route.request.method == "POST":
            held.append(route.request.url)
            await free.wait()
        await route.continue_()

    await page.route("**/bots/**", hold)
    await builder.step("Question: Hi!").focus()
    await page.keyboard.press("ArrowDown")
    await page.keyboard.press("Delete")
    await page.keyboard.press("Control+z")
    await page.keyboard.press("Control+Shift+Z")
    await eventually(lambda: held)
    assert len(held) == 1, "the others wait for the first"
    free.set()
    await eventually(lambda: len(held) == 3)
    await expect(builder.steps).to_have_count(many - 1)
    await expect(builder.undo).to_be_enabled()
    await expect(builder.redo).to_be_disabled()
    assert len((await draft_of(workspace, bot_id))["nodes"]) == many - 1


async def test_what_is_pressed_before_an_answer_comes_is_pressed_in_what_comes(page, door, workspace, bot_id):
    await drafts.replace(workspace, bot_id, library.text("support-triage"))
    await page.goto(f"{door}/bots/{bot_id}?step=hello")
    builder, held, free = Builder(page), [], asyncio.Event()
    before = len((await draft_of(workspace, bot_id))["nodes"][0]["options"])

    async def hold(route):
        if route.request.method == "POST":
            held.append(parse_qs(route.request.post_data))
            await free.wait()
        await route.continue_()

    await page.route("**/bots/**", hold)
    await builder.field("Then").select_option(index=1)  # the answer brings another form
    await builder.panel.get_by_role("button", name="Add answer").click()
    await eventually(lambda: held)
    free.set()
    await expect(builder.row(f"Answer {before + 1}")).to_be_visible()
    assert [form.get("add") for form in held] == [None, ["options"]]
    assert len((await draft_of(workspace, bot_id))["nodes"][0]["options"]) == before + 1


async def test_a_wire_is_dragged_and_the_picture_fits(page, door, workspace, bot_id):
    await drafts.replace(workspace, bot_id, library.text("lead-qualification"))
    await page.goto(f"{door}/bots/{bot_id}")
    builder = Builder(page)
    await page.get_by_role("button", name="Fit").click()
    port = page.locator("circle[data-from=goal][data-way='options/0/next']")
    target = builder.steps.last.locator("rect")
    before = await draft_of(workspace, bot_id)
    goal = next(one for one in before["nodes"] if one["id"] == "goal")
    assert "next" not in goal["options"][0]
    await port.hover()
    await page.mouse.down()
    box = await target.bounding_box()
    await page.mouse.move(box["x"] + 10, box["y"] + box["height"] / 2, steps=4)
    async with page.expect_response(lambda answer: answer.request.method == "POST"):
        await page.mouse.up()
    await expect(builder.step("Question: What brings")).to_have_attribute("aria-current", "true")
    after = await draft_of(workspace, bot_id)
    goal = next(one for one in after["nodes"] if one["id"] == "goal")
    assert goal["options"][0]["next"] == await builder.steps.last.get_attribute("data-step")
    frame = await page.locator("#picture").bounding_box()
    drawn = await page.locator("svg.flow").bounding_box()
    assert drawn["width"] <= frame["width"]


async def test_answers_are_put_in_order_by_keyboard(page, door, workspace, bot_id):
    await drafts.replace(workspace, bot_id, library.text("support-triage"))
    await page.goto(f"{door}/bots/{bot_id}?step=hello")
    builder = Builder(page)
    await builder.panel.get_by_role("button", name="Move answer 3 up").focus()
    for place in ("2", "1"):
        await page.keyboard.press("Enter")
        await expect(builder.field("Answer", builder.row(f"Answer {place}"))).to_have_value("My bill")
    await expect(builder.panel.get_by_role("button", name="Move answer 1 down")).to_be_focused()
    options = (await draft_of(workspace, bot_id))["nodes"][0]["options"]
    assert [one["label"] for one in options] == ["My bill", "A question", "Something is broken", "A person, please"]


async def test_on_a_phone_the_panel_comes_from_below(browser, door, workspace, bot_id):
    async with visiting(browser, viewport={"width": 390, "height": 844}, has_touch=True, is_mobile=True) as visit:
        page = await signed_in(visit, door, workspace, "grace@example.org")
        await page.goto(f"{door}/bots/{bot_id}")
        builder = Builder(page)
        await builder.step("Message: Hello!").tap()
        await expect(builder.panel.get_by_role("heading", name="Message", exact=True)).to_be_visible()
        sheet = await builder.panel.bounding_box()
        assert sheet["y"] > 300
        assert sheet["y"] + sheet["height"] == 844
        await expect(builder.step("Message: Hello!")).to_be_in_viewport()
        await builder.chooses("Then", "+ Question")
        await builder.writes("Question", "Who are you?")
        await page.get_by_role("link", name="Close").tap()
        await expect(builder.step("Question: Who are you?")).to_be_visible()
        assert await page.evaluate("document.documentElement.scrollWidth - innerWidth") == 0
        assert visit.complaints == []


async def test_without_script_every_form_works(browser, door, workspace, bot_id):
    async with visiting(browser) as visit:
        page = await signed_in(visit, door, workspace, "grace@example.org")
        state = await page.context.storage_state()
    async with visiting(browser, java_script_enabled=False, storage_state=state) as visit:
        page = await visit.page()
        await page.goto(f"{door}/bots/{bot_id}")
        builder = Builder(page)
        await builder.step("Message: Hello!").click()
        await builder.field("Message").fill("No script")
        await builder.field("Then").select_option(label="+ Question")
        await page.get_by_role("button", name="Save", exact=True).click()
        await builder.field("Question").fill("Which colour?")
        await page.get_by_role("button", name="Add answer").click()
        await builder.field("Answer").fill("Red")
        await page.get_by_role("button", name="Save", exact=True).click()
        assert (await draft_of(workspace, bot_id))["nodes"] == [
            {"type": "say", "id": "welcome", "text": "No script", "next": "question"},
            {
                "type": "ask", "id": "question", "text": "Which colour?", "input": "choice",
                "options": [{"label": "Red"}],
            },
        ]  # fmt: skip
        await page.get_by_role("button", name="Delete", exact=True).click()
        await expect(builder.steps).to_have_count(1)
        await builder.undo.click()
        await expect(builder.steps).to_have_count(2)
        assert visit.complaints == []


async def test_axe_finds_nothing_in_the_panel_of_any_kind_of_step(browser, door, workspace, bot_id):
    draft = read(library.BLANK)
    for kind in KINDS:
        draft, _ = editing.add(draft, kind, "welcome", "next")
    draft = editing.add_row(editing.add_row(draft, "question", "options"), "question", "links")
    await drafts.replace(workspace, bot_id, written(draft))
    axe = (importlib.resources.files("axe_playwright_python") / "axe.min.js").read_text()
    found = []
    async with visiting(browser, bypass_csp=True) as visit:
        page = await signed_in(visit, door, workspace, "grace@example.org")
        for number, one in enumerate(editing.steps(draft)):
            await page.set_viewport_size({"width": (390, 1440)[number % 2], "height": 844})
            await page.goto(f"{door}/bots/{bot_id}?step={one['id']}")
            await page.locator("#panel details").evaluate_all("all => all.forEach(one => (one.open = true))")
            await page.evaluate(axe)
            await page.emulate_media(color_scheme=("light", "dark")[number // 2 % 2])
            wide = await page.evaluate("document.documentElement.scrollWidth - innerWidth")
            found += [("too wide", one["id"], wide)] if wide > 0 else []
            told = await page.evaluate(_ASK)
            found += [(one["id"], *fault) for fault in told]
    assert found == [], "\n".join(map(str, found))


async def test_a_fault_is_told_at_its_field_once_that_was_left_or_publishing_was_tried(page, visit, door, bot_id):
    await page.goto(f"{door}/bots/{bot_id}?step=welcome")
    builder, told = Builder(page), page.locator("#panel .error:visible, #faults li:visible")
    await builder.chooses("Then", "+ Question")
    await expect(builder.panel.get_by_role("heading", name="Question", exact=True)).to_be_visible()
    await builder.writes("Question", "What do you need?")
    await builder.chooses("Kind of answer", "Choose from answers")
    await builder.panel.get_by_role("button", name="Add answer").click()
    await expect(builder.row("Answer 3")).to_be_visible()
    await expect(told).to_have_count(0)
    await builder.field("Answer", builder.row("Answer 3")).focus()
    await builder.field("Answer", builder.row("Answer 2")).focus()  # the third was left as it was
    await expect(builder.row("Answer 3").get_by_text("Fill this in.")).to_be_visible()
    await expect(told).to_have_count(1)
    await builder.writes("Answer", "Help", builder.row("Answer 3"))
    await expect(told).to_have_count(0)
    await builder.chooses("Then", "+ Decision")
    await expect(builder.panel.get_by_role("heading", name="Decision", exact=True)).to_be_visible()
    await expect(told).to_have_count(0)
    await page.get_by_role("button", name="Publish").click()
    await expect(page.get_by_text("Not published: 4 to finish.").first).to_be_visible()
    way = builder.row("Way 1")
    await expect(way.get_by_text("Choose one.")).to_have_count(2)
    await expect(way.get_by_text("Choose a step.")).to_be_visible()
    await expect(told).to_have_count(4)
    await builder.chooses("What", "question: What do you need?", way)
    await expect(told).to_have_count(3)
    await expect(page.locator("#refusal")).to_have_count(0)  # it was of what was there then
    visit.complaints = [one for one in visit.complaints if "422" not in one]


async def test_enter_begins_the_next_answer(page, door, workspace, bot_id):
    await page.goto(f"{door}/bots/{bot_id}")
    builder = Builder(page)
    await page.get_by_role("button", name="Question", exact=True).click()
    await expect(builder.panel.get_by_role("heading", name="Question", exact=True)).to_be_visible()
    await builder.writes("Question", "Which color?")
    await builder.panel.get_by_role("button", name="Add answer").click()
    await builder.field("Answer", builder.row("Answer 1")).focus()
    for place, color in enumerate(("Red", "Green", "Blue"), 1):
        await expect(builder.field("Answer", builder.row(f"Answer {place}"))).to_be_focused()
        await page.keyboard.type(color)
        await page.keyboard.press("Enter")
    await expect(builder.field("Answer", builder.row("Answer 4"))).to_be_focused()
    first, asked = (await draft_of(workspace, bot_id))["nodes"]
    assert first["next"] == asked["id"]
    assert [one.get("label") for one in asked["options"]] == ["Red", "Green", "Blue", None]
