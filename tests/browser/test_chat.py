"""A visitor, a bot, a person and a receiver: everything a conversation can be, in two browsers."""

import gzip

from playwright.async_api import expect

from leadwire.domain.conversations.changes import end_and_snooze
from leadwire.domain.webhooks.samples import SAMPLES
from leadwire.domain.workspaces import changes as workspaces
from leadwire.infrastructure import clock, db
from leadwire.interfaces.widget.static import source
from leadwire_development import pages
from tests import jobs
from tests.browser.conftest import visiting
from tests.browser.desk import signed_in
from tests.browser.visitor import Chat
from tests.delivery.wired import endpoint
from tests.serving import served
from tests.waiting import eventually

QUIET = """SELECT NOT EXISTS (SELECT FROM outbox)
    AND NOT EXISTS (SELECT FROM every_delivery WHERE state <> 'delivered')"""


def test_the_script_is_light():
    assert len(gzip.compress(source(), 9)) <= 16_000


async def test_from_hello_to_the_end_in_two_browsers(browser, chat, door, workspace, wire, receiver):
    kinds = [kind for kind in SAMPLES if kind != "lead.deleted"]
    await endpoint(workspace, receiver.url, *kinds)
    await chat.open()
    await chat.picks("I am ready to start")
    await chat.picks("51-200")
    await chat.says("no address")
    await chat.hears("That does not look like an e-mail address. Could you check it?")
    await chat.says("grace@navy.example")
    await chat.says("Grace <b>Hopper</b>")
    await expect(chat.log.get_by_text("Grace <b>Hopper</b>", exact=True)).to_be_visible()  # as text

    async with visiting(browser) as visit:
        desk = await signed_in(visit, door, workspace, "ada@example.org", "agent")
        await desk.goto(f"{door}/inbox")
        await chat.says("Navy")  # a good lead: the flow asks for a person by itself
        await desk.get_by_role("link", name="Grace").first.click()
        draft = desk.get_by_label("Answer", exact=True)
        await draft.fill("Hello Grace, Ada here.")
        await desk.get_by_role("button", name="Take", exact=True).click()
        await chat.says("Are you there?")
        await expect(desk.locator("#log").get_by_text("Are you there?")).to_be_visible()  # live
        await expect(draft).to_have_value("Hello Grace, Ada here.")  # and the draft has stayed
        await draft.press("Enter")
        await chat.hears("Hello Grace, Ada here.")
        await desk.get_by_role("button", name="End", exact=True).click()
        await expect(desk.locator("#state")).to_contain_text("ends in a few seconds")
        with clock.at(clock.now() + end_and_snooze.UNDO):
            await jobs.run("conversation_due", early=True)
        await expect(desk.locator("#head .pill")).to_have_text("Ended")

    await expect(chat.dialog).to_contain_text("ended")
    await eventually(lambda: db.value(QUIET))
    heard = [delivery.event for delivery in receiver.deliveries]
    assert set(heard) == set(kinds)
    assert heard.count("conversation.started") == heard.count("conversation.handoff") == 1
    assert heard.count("conversation.ended") == heard.count("lead.created") == 1
    told = [one.event for one in sorted(receiver.deliveries, key=lambda one: one.webhook_id)]  # ids tell the order
    assert (told[0], told[-1]) == ("conversation.started", "conversation.ended")
    assert told.index("message.received") < told.index("lead.created") < told.index("lead.updated")
    assert told.index("lead.created") < told.index("conversation.handoff") < len(told) - 1


async def test_what_is_too_long_is_held_back(chat):
    await chat.open()
    await chat.picks("Just looking")
    await chat.picks("1-10")
    await chat.says("x" * 5000)
    await expect(chat.dialog.get_by_text("Characters too many: 1000")).to_be_visible()
    assert len(await chat.field.input_value()) == 5000  # it can be shortened
    await chat.says("x" * 4000)
    await chat.hears("That does not look like an e-mail address. Could you check it?")


async def test_without_a_network_an_answer_is_given_once(chat, visit):
    await chat.open()
    await chat.page.context.set_offline(True)
    await chat.picks("Just looking")
    await expect(chat.dialog.get_by_text("You are offline.")).to_be_visible()
    await expect(chat.dialog.get_by_role("button", name="I am ready to start", exact=True)).to_have_count(0)
    await chat.page.context.set_offline(False)
    await expect(chat.dialog.get_by_role("button", name="1-10", exact=True)).to_be_visible()
    visit.complaints = [told for told in visit.complaints if "ERR_INTERNET_DISCONNECTED" not in told]


async def test_what_is_said_survives_a_reload_and_a_cut_network(chat, visit):
    await chat.open()
    await chat.picks("Just looking")
    await expect(chat.dialog.get_by_role("button", name="1-10", exact=True)).to_be_visible()
    before = await chat.read()
    await chat.page.context.set_offline(True)
    await chat.picks("1-10")
    await chat.page.context.set_offline(False)
    await expect(chat.log).to_contain_text("work e-mail")
    read = await chat.read()
    assert read[: len(before)] == before
    assert read.count("1-10") == 1
    await chat.page.reload()  # the chat stays open
    await expect(chat.log).to_contain_text("work e-mail")
    assert await chat.read() == read
    visit.complaints = [told for told in visit.complaints if "ERR_INTERNET_DISCONNECTED" not in told]


async def test_the_demo_website_shows_its_bot(browser, qualifier):
    """On a page of ours, whatever we are called: the demo's bots are for every website."""
    async with served(more=pages.website(qualifier.id)) as address, visiting(browser) as visit:
        page = await visit.page()
        await page.goto(f"{address.replace('127.0.0.1', 'localhost')}/demo")
        chat = Chat(page)
        await chat.open()
        await chat.picks("Just looking")
        await chat.hears("How many people would use it?")
        assert visit.complaints == []


async def test_the_chat_of_a_suspended_workspace_is_closed_and_says_so(visit, chat, workspace):
    await chat.open()
    await chat.picks("I am ready to start")
    await expect(chat.thinking).to_have_count(0)
    await workspaces.suspend(workspace)
    await chat.picks("51-200")
    await expect(chat.dialog).to_contain_text("This chat is not available here.")
    await expect(chat.dialog).to_contain_text("Not delivered")
    await workspaces.resume(workspace)
    await chat.picks("51-200")
    await expect(chat.dialog).not_to_contain_text("This chat is not available here.")
    visit.complaints = [told for told in visit.complaints if "403" not in told]
