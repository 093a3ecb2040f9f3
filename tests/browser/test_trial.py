"""The trial chat is the widget: with the draft, in a frame of the web area."""

from playwright.async_api import expect

from leadwire.domain.bots import changes as bots
from leadwire.domain.bots.flow import library
from leadwire.infrastructure import db
from tests.browser.visitor import Chat


async def drafted(page, door, workspace):
    """A bot that is not published, and its address."""
    bot = await bots.create(workspace, "Draft")
    await bots.save_draft(workspace, bot, library.text("lead-qualification"))
    return f"{door}/bots/{bot}"


async def test_a_draft_is_tried_in_the_widget_and_nothing_is_kept(page, door, workspace):
    at = await drafted(page, door, workspace)
    await page.goto(at)
    await page.get_by_role("link", name="Try it").click()
    chat, lit = Chat(page.frame_locator("iframe.trial")), page.locator("g.lit a")
    await expect(lit).to_have_id("step-goal")
    await chat.picks("I want to see prices")
    await expect(page.get_by_text("Saves goal: pricing")).to_be_visible()
    await expect(lit).to_have_id("step-size")
    await chat.picks("11-50")
    await chat.says("grace@navy.example")
    await expect(chat.log).to_contain_text("what is your name")
    await expect(page.get_by_text("Saves email: grace@navy.example")).to_be_visible()
    await chat.picks("Talk to a person")
    await expect(chat.dialog).to_contain_text("A person has been asked to join")
    await expect(lit).to_have_count(0)
    await page.get_by_role("button", name="Restart").click()
    await expect(lit).to_have_id("step-goal")
    await expect(chat.dialog.get_by_role("button", name="I want to see prices")).to_be_visible()
    assert len(await page.locator("[data-notes] li").all()) == 0
    await expect(chat.log.get_by_text("grace@navy.example")).to_have_count(0)
    for table in ("conversation", "message", "lead", "event", "outbox"):
        assert await db.value(f"SELECT count(*) FROM {table}") == 0


async def test_the_trial_stays_while_the_picture_changes_and_goes_when_a_step_is_opened(page, door, workspace):
    at = await drafted(page, door, workspace)
    await page.goto(f"{at}?try=1")
    chat = Chat(page.frame_locator("iframe.trial"))
    await chat.picks("I want to see prices")
    await expect(page.get_by_text("Saves goal: pricing")).to_be_visible()
    bot = at.rpartition("/")[2]
    draft = library.text("lead-qualification").replace("What brings you here?", "What do you need?")
    await bots.save_draft(workspace, bot, draft)  # by somebody else
    await expect(page.locator("#step-goal")).to_contain_text("What do you need?")
    await expect(page.get_by_text("Saves goal: pricing")).to_be_visible()
    await expect(page.locator("g.lit a")).to_have_id("step-size")
    await page.locator("#step-goal").click()
    await expect(page.locator("#panel textarea").first).to_have_value("What do you need?")
    await expect(page.locator("g.lit")).to_have_count(0)
    await page.go_back()
    await expect(chat.dialog.get_by_role("button", name="I want to see prices")).to_be_visible()


async def test_a_look_is_shown_while_it_is_chosen_and_saved_on_demand(page, door, workspace):
    at = await drafted(page, door, workspace)
    await page.goto(f"{at}/look")
    frame = page.frame_locator("iframe.trial")
    launcher = frame.locator("leadwire-chat .launcher")
    await expect(launcher).to_be_visible()
    await page.get_by_label("Text on the button").fill("Questions?")
    await expect(launcher).to_have_accessible_name("Questions?")
    await page.get_by_label("Corner").select_option("left")
    await expect(frame.locator("leadwire-chat[left]")).to_have_count(1)
    await page.get_by_label("Text beside the button").fill("Good morning!")
    await expect(frame.get_by_role("button", name="Good morning!")).to_be_visible()
    await page.get_by_label("Language").select_option("browser")
    await launcher.click()
    await expect(frame.get_by_role("button", name="Talk to a person")).to_be_visible()
    assert await db.value("SELECT look::text FROM bot") == "{}"
    await page.get_by_role("button", name="Save").click()
    await expect(page.get_by_text("Saved.")).to_be_visible()
    await expect(page.get_by_label("Text on the button")).to_have_value("Questions?")
    assert await db.value("SELECT look->>'launcher' FROM bot") == "Questions?"
