"""What a page's own scripts tell the chat, under a strict policy and before the widget has loaded; what they hear."""

import msgspec
from playwright.async_api import expect

from leadwire.domain.bots import changes as bots
from leadwire.infrastructure import db
from tests.browser.conftest import visiting
from tests.browser.desk import signed_in
from tests.browser.site import website
from tests.browser.visitor import Chat
from tests.interfaces.widget.test_identity import signed

STUB = "window.leadwire ??= (...call) => (leadwire.calls ??= []).push(call);"
HEARD = """
const root = document.documentElement;
root.dataset.heard = "";
for (const kind of ["opened", "closed", "captured"]) document.addEventListener(`leadwire:${kind}`, ({ detail }) => {
  root.dataset.heard += `${kind} ${detail.bot.slice(0, 4)} ${String(detail.conversation).slice(0, 5)}; `;
});
"""
KNOWN = """
leadwire("prefill", { email: "ada@example.com", name: "<b>Ada</b>", phone: null });
leadwire("attributes", { plan: "free", seats: 12, trial: false });
leadwire("attributes", { plan: "pro", campaign: undefined });
leadwire("open");
document.querySelector("h1").onclick = () => leadwire("close");
"""


async def test_a_page_fills_in_what_it_knows_and_hears_of_the_lead(visit, door, qualifier):
    async with website(door, qualifier.id, script=STUB + HEARD + KNOWN) as address:
        page = await visit.page()
        await page.goto(address)
        chat, root = Chat(page), page.locator("html")
        await chat.picks("I am ready to start")  # it has opened by itself
        await expect(root).to_have_attribute("data-heard", "opened bot_ null; ")
        await chat.picks("51-200")
        await expect(chat.field).to_have_value("ada@example.com")
        await chat.field.press("Enter")
        await expect(chat.field).to_have_value("<b>Ada</b>")
        await expect(root).to_have_attribute("data-heard", "opened bot_ null; captured bot_ conv_; ")
        told = msgspec.json.decode(await db.value("SELECT custom_fields::text FROM lead"))
        assert {"plan": "pro", "seats": "12", "trial": "false"}.items() <= told.items()
        await chat.field.fill("Ada L.")  # the visitor knows better
        await chat.field.press("Enter")
        await chat.hears("Ada L.")
        await page.get_by_role("heading", name="Shop").dispatch_event("click")
        await expect(chat.dialog).to_have_count(0)
        await expect(root).to_have_attribute("data-heard", "opened bot_ null; captured bot_ conv_; closed bot_ conv_; ")
        await page.reload()
        await chat.hears("Ada L.")
        await expect(root).to_have_attribute("data-heard", "opened bot_ conv_; ")  # it was captured before
        assert await db.value("SELECT count(*) FROM lead") == 1


SHORTCUTS = """
for (const kind of ["keydown", "keypress", "keyup"]) document.addEventListener(kind, (event) => {
  if (event.key !== "/" || event.target.closest("input, textarea")) return;
  event.preventDefault();
  document.title = "Search";
});
"""


async def test_what_is_typed_in_the_chat_is_no_shortcut_of_the_page(visit, door, qualifier):
    async with website(door, qualifier.id, script=SHORTCUTS) as address:
        page = await visit.page()
        await page.goto(address)
        chat = Chat(page)
        await chat.open()
        await chat.field.press_sequentially("9/10")
        await expect(chat.field).to_have_value("9/10")
        await expect(page).to_have_title("Shop")


async def test_a_wrong_call_is_an_error_of_its_own(browser, door, qualifier):
    wrong = """
leadwire("erase");
leadwire("constructor");
leadwire("prefill", null);
leadwire("attributes", { "Plan B": "x" });
leadwire("attributes", { plan: { name: "pro" } });
leadwire("attributes", { plan: "a\\u202eb" });
leadwire("attributes", { plan: "x".repeat(501) });
leadwire("attributes", Object.fromEntries([...Array(21).keys()].map((n) => [`a${n}`, n])));
"""
    async with website(door, qualifier.id, script=STUB + wrong + KNOWN) as address, visiting(browser) as visit:
        page = await visit.page()
        await page.goto(address)
        chat = Chat(page)
        await chat.picks("I am ready to start")
        await chat.picks("51-200")
        await expect(chat.field).to_have_value("ada@example.com")  # what came behind them counts
        assert len(visit.complaints) == 8, visit.complaints
        for told, said in zip(
            visit.complaints, ("erase", "constructor", "", "Plan B", "plan", "plan", "plan", "20"), strict=True
        ):
            assert said in told


async def identify(workspace, bot, **change):
    given = signed(await bots.make_identity_secret(workspace, bot.id), bot.id, name="Ada") | change
    return f"{STUB} leadwire('identify', {msgspec.json.encode(given).decode()}); leadwire('open');"


async def test_a_signed_visitor_is_verified(visit, door, workspace, qualifier):
    async with website(door, qualifier.id, script=HEARD + await identify(workspace, qualifier)) as address:
        page = await visit.page()
        await page.goto(address)
        chat = Chat(page)
        await chat.picks("I am ready to start")
        await expect(page.locator("html")).to_have_attribute("data-heard", "opened bot_ null; captured bot_ conv_; ")
        await chat.picks("51-200")
        await expect(chat.field).to_have_value("ada@example.com")
        desk = await signed_in(visit, door, workspace, "ada@example.org", "agent")
        talk = await db.value("SELECT id FROM conversation")
        await desk.goto(f"{door}/inbox?c={talk}&panel=1")
        await expect(desk.get_by_text("Verified by the website: ada@example.com · Ada · u-7")).to_be_visible()


async def test_a_wrong_signature_verifies_nobody_and_loses_no_word(browser, door, workspace, qualifier):
    script = await identify(workspace, qualifier, signature="0" * 64)
    async with website(door, qualifier.id, script=script) as address, visiting(browser) as visit:
        page = await visit.page()
        await page.goto(address)
        chat = Chat(page)
        await chat.picks("I am ready to start")
        await chat.picks("51-200")
        await expect(chat.field).to_have_value("ada@example.com")  # filled in, as any visitor's word
        told = [one for one in visit.complaints if "403" not in one]
        assert told == ["identify: The signature was not made of these values with the bot's secret."]
        assert await db.value("SELECT count(*) FROM conversation WHERE variables::text LIKE '%verified%'") == 0
        assert await db.value("SELECT count(*) FROM lead") == 0
