"""Mails in a browser: a visitor asks for the chat, and people choose what they are told."""

import pytest
from playwright.async_api import expect

from leadwire.domain.notices import reads
from leadwire.infrastructure import db
from tests.browser.conftest import visiting
from tests.mailing import mails


@pytest.fixture(autouse=True)
def _mail(set_mail):
    """Mail is sent. The pages are where these browsers are."""
    set_mail("mailbox:", public_url="")


async def test_a_visitor_has_the_chat_mailed(chat, browser, door):
    await chat.open()
    ask = chat.dialog.get_by_role("button", name="Mail me this chat")
    await chat.picks("I am ready to start")
    await chat.picks("51-200")
    await expect(ask).to_be_hidden()  # no address is known
    await chat.says("grace@navy.example")
    await ask.click()
    await expect(chat.dialog.get_by_role("button", name="Sent by mail")).to_be_visible()
    ((to, values),) = await mails("transcript")
    assert to == "grace@navy.example"
    async with visiting(browser) as mail_reader:
        shown = await mail_reader.page()
        await shown.goto(door + values["path"])
        await expect(shown.get_by_text("You: 51-200")).to_be_visible()
        assert mail_reader.complaints == []
    await chat.says("Grace Hopper")  # the conversation goes on
    await expect(chat.log.get_by_text("Grace Hopper", exact=True)).to_be_visible()


async def test_people_choose_and_a_link_in_a_mail_ends_a_kind(browser, page, door, workspace):
    await page.goto(f"{door}/account")
    await page.get_by_role("checkbox", name="Waiting visitors").check()
    await page.get_by_role("button", name="Save", exact=True).click()
    await expect(page.get_by_text("Your choice of mails is saved.")).to_be_visible()
    await expect(page.get_by_role("checkbox", name="Waiting visitors")).to_be_checked()
    user = await db.value("SELECT id FROM user_account")
    async with visiting(browser) as mail_reader:
        shown = await mail_reader.page()
        await shown.goto(door + reads.stop_path(workspace, user, "waiting"))
        await shown.get_by_role("button", name="Unsubscribe").click()
        await expect(shown.get_by_text("You will get no more mails about waiting visitors.")).to_be_visible()
        assert mail_reader.complaints == []
    await page.reload()
    await expect(page.get_by_role("checkbox", name="Waiting visitors")).not_to_be_checked()
