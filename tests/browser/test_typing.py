"""A visitor and a person at the same time, in two browsers: each sees when the other types and has read."""

from playwright.async_api import expect

from leadwire.domain.conversations.pubsub import hub
from leadwire.infrastructure import db
from tests.browser.conftest import visiting
from tests.browser.desk import signed_in
from tests.waiting import eventually


async def test_each_sees_that_the_other_types_and_has_read(browser, chat, door, workspace):
    await chat.open()
    await chat.picks("Talk to a person")
    await expect(chat.dialog).to_contain_text("A person has been asked to join")
    conversation = await db.value("SELECT id FROM conversation")
    async with visiting(browser) as visit:
        desk = await signed_in(visit, door, workspace, "ada@example.org", "agent")
        await desk.goto(f"{door}/inbox?c={conversation}")
        answer = desk.get_by_label("Answer", exact=True)
        await expect(answer).to_be_visible()
        await eventually(lambda: followed(workspace, conversation))
        await chat.field.press_sequentially("Is anybody there?")
        await expect(desk.get_by_text("The visitor is typing…")).to_be_visible()
        await chat.field.press("Enter")
        await expect(desk.locator("#log").get_by_text("Is anybody there?")).to_be_visible()
        await expect(chat.lines.filter(has_text="Is anybody there?").get_by_text("Seen", exact=True)).to_be_visible()
        await answer.press_sequentially("Yes, I am")
        await expect(chat.dialog.get_by_text("Team is typing …")).to_be_visible()
        await answer.press("Enter")
        await chat.hears("Yes, I am")
        await expect(desk.locator("#log")).to_contain_text("Seen")
        assert visit.complaints == []


async def followed(workspace, conversation):
    """Whether both have their streams: the visitor's of the conversation, the inbox's of the workspace."""
    return hub.watchers(workspace, conversation) > 0 and hub.watchers(workspace, "") > 0
