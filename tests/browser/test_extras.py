"""Images, buttons that open a page, and dates in the widget; an image that fails, hangs or is forbidden."""

import asyncio
import struct
import zlib

import pytest
from playwright.async_api import expect

from leadwire.domain.bots import changes as bots
from leadwire.domain.bots import reads
from tests.browser.conftest import visiting
from tests.browser.site import website
from tests.browser.visitor import Chat

FLOW = """
format = 1
start = "hello"

[[nodes]]
type = "say"
id = "hello"
text = "This is our office."
image = { url = "https://cdn.example.com/office.png", alt = "A house by a river" }
links = [{ label = "Read our guide", url = "https://www.example.com/guide" }]
next = "day"

[[nodes]]
type = "ask"
id = "day"
text = "When shall we meet?"
input = "date"
earliest = "2027-01-01"
latest = "2027-12-31"
next = "call"

[[nodes]]
type = "ask"
id = "call"
text = "Pick a time."
input = "choice"
options = [{ label = "Open the calendar", url = "https://www.example.com/calendar" }, { label = "Later" }]
next = "bye"

[[nodes]]
type = "end"
id = "bye"
text = "Until {{day}}."
"""


def chunk(kind: bytes, data: bytes) -> bytes:
    """A part of a PNG file."""
    return struct.pack(">I", len(data)) + kind + data + struct.pack(">I", zlib.crc32(kind + data))


PNG = b"\x89PNG\r\n\x1a\n" + b"".join(
    [
        chunk(b"IHDR", struct.pack(">IIBBBBB", 320, 180, 8, 2, 0, 0, 0)),
        chunk(b"IDAT", zlib.compress((b"\0" + b"\x0f\x76\x6e" * 320) * 180)),
        chunk(b"IEND", b""),
    ]
)
OPEN = "default-src 'none'; script-src {door}; connect-src {door}; style-src 'self'; img-src https://cdn.example.com"


@pytest.fixture
async def illustrated(workspace):
    """A live bot that shows an image."""
    bot_id = await bots.create(workspace, "Illustrated")
    await bots.save_draft(workspace, bot_id, FLOW)
    await bots.publish(workspace, bot_id)
    await bots.set_origins(workspace, bot_id, ["*"])
    return await reads.live(bot_id)


async def test_an_image_a_button_and_a_date(browser, door, illustrated):
    async with (
        website(door, illustrated.id, OPEN.format(door=door)) as address,
        visiting(browser, reduced_motion="reduce") as visit,
    ):
        await visit.context.route("https://www.example.com/**", lambda route: route.fulfill(body="A page."))
        waiting = asyncio.get_running_loop().create_future()

        async def serve(route):
            if not waiting.done():
                waiting.set_result(route)  # the image hangs, for now
            else:
                await route.fulfill(body=PNG, content_type="image/png")

        await visit.context.route("https://cdn.example.com/**", serve)
        page = await visit.page()
        await page.goto(address)
        chat = Chat(page)
        await chat.open()
        image = page.locator("leadwire-chat .image")
        await expect(image).to_have_text("A house by a river")
        await expect(chat.lines).to_have_count(2)
        before = await image.bounding_box()
        held = await asyncio.wait_for(waiting, 240)
        await held.fulfill(body=PNG, content_type="image/png")
        await expect(image).to_have_text("")
        assert await image.bounding_box() == before
        await expect(chat.log.get_by_role("img", name="A house by a river")).to_be_visible()
        assert held.request.headers.get("referer") is None
        assert await chat.read() == ["This is our office.", "When shall we meet?"]

        async with visit.context.expect_page() as opened:
            await chat.log.get_by_role("link", name="Read our guide").click()
        assert (await opened.value).url == "https://www.example.com/guide"
        assert await (await opened.value).evaluate("window.opener") is None

        day = chat.dialog.locator("input[type=date]")
        assert (await day.get_attribute("min"), await day.get_attribute("max")) == ("2027-01-01", "2027-12-31")
        await day.fill("2027-05-17")
        await day.press("Enter")
        await expect(chat.lines).to_have_count(4)
        await expect(chat.dialog.locator("input[type=date]:visible")).to_have_count(0)

        async with visit.context.expect_page() as opened:
            await chat.dialog.get_by_role("link", name="Open the calendar").click()
        assert (await opened.value).url == "https://www.example.com/calendar"
        await chat.hears("Until 2027-05-17.")  # and the flow has continued
        await page.reload()
        await chat.hears("This is our office.")
        await expect(chat.log.get_by_role("link", name="Read our guide")).to_be_visible()
        assert visit.complaints == []


@pytest.mark.parametrize("policy", [OPEN, None], ids=["broken", "forbidden"])
async def test_an_image_that_cannot_be_shown_is_told(browser, door, illustrated, policy):
    async with (
        website(door, illustrated.id, policy and policy.format(door=door)) as address,
        visiting(browser, viewport={"width": 390, "height": 844}, reduced_motion="reduce") as visit,
    ):
        await visit.context.route("https://cdn.example.com/**", lambda route: route.abort())
        page = await visit.page()
        await page.goto(address)
        chat = Chat(page)
        await chat.open()
        link = chat.log.get_by_role("link", name="A house by a river")
        await expect(link).to_have_text("A house by a river")
        await expect(link.locator("img")).to_have_count(0)
        await expect(link).to_have_attribute("href", "https://cdn.example.com/office.png")
