"""Several conversations in one inbox: what is shown, written and sent is always of the one that is open."""

import pytest
from playwright.async_api import expect

from leadwire.domain.bots.visitors import runtime
from leadwire.domain.conversations import changes as conversation_reads
from leadwire.domain.conversations.changes import end_and_snooze
from leadwire.domain.conversations.changes import inbox as acts
from leadwire.infrastructure import clock, db
from tests import jobs
from tests.browser.conftest import held, visiting
from tests.browser.desk import signed_in
from tests.domain.bots.conftest import Visitor, live  # noqa: F401 - a fixture

PEOPLE = {"ada": "ada@example.com", "grace": "grace@example.com"}


@pytest.fixture
async def people(live):  # noqa: F811
    """Two visitors who are leads and wait for a person."""
    made = {}
    for name, email in PEOPLE.items():
        made[name] = Visitor(live)
        await made[name].says(email)
        await runtime.hand_off(await made[name].visit())
    return made


@pytest.fixture
async def inbox(visit, door, workspace, people):
    page = await signed_in(visit, door, workspace, "mary@example.org", "agent")
    await page.goto(f"{door}/inbox")
    await expect(page.locator("a.thread")).to_have_count(2)
    return page


async def opened(inbox, people, name):
    """Press a thread; what is then shown is of that visitor, to the last form."""
    await inbox.locator(f"a.thread[href='/inbox?c={people[name].conversation}']").click()
    await belongs(inbox, people, name)


async def belongs(inbox, people, name):
    """Whatever is shown, and wherever a form goes, is of this visitor."""
    conversation = people[name].conversation
    for part in ("#head h2", "#about h2 >> nth=0"):
        await expect(inbox.locator(part)).to_have_text(PEOPLE[name])
    assert inbox.url.endswith(f"?c={conversation}")
    targets = await inbox.locator("#inbox form[method=post]").evaluate_all(
        "forms => forms.map(one => one.getAttribute('action'))"
    )
    deeds = {target.rpartition("/")[2] for target in targets}
    assert {"reply", "claim", "lead", "note", "block"} <= deeds
    assert {target.rpartition("/")[0] for target in targets} == {f"/inbox/{conversation}"}


async def told(inbox, people, name, text):
    """A visitor says something, and the page has taken it over."""
    await people[name].says(text)
    await expect(inbox.locator(f"#thread-{people[name].conversation} > span").first).to_contain_text(text)


async def test_the_panel_is_of_the_thread_that_is_open(inbox, people):
    await expect(inbox.locator("#about")).to_have_count(0)
    await opened(inbox, people, "ada")  # from the bare inbox, the panel appears
    await expect(inbox.locator("#about")).to_be_visible()
    await opened(inbox, people, "grace")
    await told(inbox, people, "ada", "Something of Ada's")
    await belongs(inbox, people, "grace")
    await opened(inbox, people, "ada")
    await told(inbox, people, "ada", "And more")
    await belongs(inbox, people, "ada")
    await inbox.get_by_label("Note").fill("Calls on Monday")
    await inbox.get_by_label("Note").press("Control+Enter")
    await expect(inbox.locator("#about .note")).to_contain_text("Calls on Monday")
    assert await db.value("SELECT conversation_id FROM conversation_note") == people["ada"].conversation


async def test_an_answer_that_comes_late_does_not_bring_its_thread_back(inbox, people):
    await opened(inbox, people, "ada")
    asked, free = await held(inbox, "**/reply")
    await inbox.get_by_label("Answer", exact=True).fill("Hello Ada")
    await inbox.get_by_role("button", name="Send").click()
    await asked.wait()
    await opened(inbox, people, "grace")
    async with inbox.expect_response("**/reply"):
        free.set()
    await expect(inbox.locator(f"#thread-{people['ada'].conversation}")).to_contain_text("Answered")
    await belongs(inbox, people, "grace")


async def test_on_a_phone_a_thread_shows_at_once_and_back_works(browser, door, workspace, people):
    async with visiting(browser, viewport={"width": 390, "height": 844}, has_touch=True) as visit:
        page = await signed_in(visit, door, workspace, "mary@example.org", "agent")
        await page.goto(f"{door}/inbox")
        thread = page.locator(f"a.thread[href='/inbox?c={people['ada'].conversation}']")
        for back in (page.get_by_label("Back to the list").tap, page.go_back):
            await thread.tap()
            await expect(page.locator("#log")).to_be_in_viewport()
            await expect(page.locator("#threads")).to_be_hidden()
            await back()
            await expect(thread).to_be_visible()
            await expect(page.locator("#log")).to_have_count(0)
        assert visit.complaints == []


async def test_a_live_change_leaves_the_place_and_the_selection(inbox, people, workspace):
    for number in range(30):
        await conversation_reads.add_message(workspace, people["ada"].conversation, "bot", f"Line {number}")
    await opened(inbox, people, "ada")
    log = inbox.locator("#log")
    await inbox.wait_for_function("() => log.scrollTop > 0 && log.scrollHeight - log.scrollTop - log.clientHeight < 2")
    await told(inbox, people, "ada", "At the end")
    await expect(log.get_by_text("At the end")).to_be_in_viewport()  # read at its end, it goes on there
    await log.evaluate("log => { log.scrollTop = 40; getSelection().selectAllChildren(log.querySelector('li p')) }")
    await told(inbox, people, "ada", "Not seen yet")
    await expect(log).to_contain_text("Not seen yet")
    assert await log.evaluate("log => log.scrollTop") == 40
    assert await inbox.evaluate("getSelection().toString()") == "Your e-mail?"


async def test_a_live_change_leaves_a_half_filled_form(inbox, people):
    await opened(inbox, people, "ada")
    await inbox.get_by_text("Correct", exact=True).click()
    name, note = inbox.locator("#about").get_by_label("Name"), inbox.get_by_label("Note")
    await name.fill("Ada Lovelace")
    await note.fill("Half a note")
    await told(inbox, people, "ada", "Hello?")
    await expect(name).to_have_value("Ada Lovelace")
    await expect(note).to_have_value("Half a note")
    await inbox.get_by_role("button", name="Save").click()
    await expect(inbox.locator("#head h2")).to_have_text("Ada Lovelace")
    await expect(inbox.locator(f"#thread-{people['ada'].conversation} b")).to_have_text("Ada Lovelace")


async def test_a_draft_stays_with_its_thread(inbox, people):
    answer = inbox.get_by_label("Answer", exact=True)
    await opened(inbox, people, "ada")
    await answer.fill("For Ada, half")
    await opened(inbox, people, "grace")
    await expect(answer).to_have_value("")
    await answer.fill("For Grace")
    await opened(inbox, people, "ada")
    await expect(answer).to_have_value("For Ada, half")
    await inbox.reload()
    await expect(answer).to_have_value("For Ada, half")
    await answer.press("Enter")
    await expect(inbox.locator("#log")).to_contain_text("For Ada, half")
    await expect(answer).to_have_value("")
    await opened(inbox, people, "grace")
    await expect(answer).to_have_value("For Grace")
    assert "For Ada, half" not in await inbox.evaluate("JSON.stringify(sessionStorage)")
    await inbox.get_by_label("Sign out").click()
    await expect(inbox).to_have_title("Sign in · Leadwire")
    assert await inbox.evaluate("sessionStorage.length") == 0


async def test_the_end_can_be_undone_for_ten_seconds_and_keeps_the_name(inbox, people, workspace):
    await opened(inbox, people, "ada")
    await inbox.get_by_role("button", name="Take", exact=True).click()
    due_at = "SELECT end_due_at FROM conversation WHERE id = $1"
    for last in (False, True):
        await inbox.get_by_role("button", name="End", exact=True).click()
        await expect(inbox.locator("#state")).to_contain_text("ends in a few seconds")
        assert await db.value(due_at, people["ada"].conversation) is not None
        if not last:
            await inbox.get_by_role("button", name="Undo").click()
            await expect(inbox.locator("#state")).not_to_contain_text("ends in a few seconds")
            assert await db.value(due_at, people["ada"].conversation) is None
    with clock.at(clock.now() + end_and_snooze.UNDO):
        await jobs.run("conversation_due", early=True)
    await expect(inbox.locator("#head .pill")).to_have_text("Ended")
    await expect(inbox.locator("#answer")).to_have_count(0)
    await expect(inbox.locator("#head h2")).to_have_text(PEOPLE["ada"])


async def test_an_end_elsewhere_takes_the_answer_field_away(inbox, people, workspace):
    await opened(inbox, people, "ada")
    await conversation_reads.end(workspace, people["ada"].conversation, "visitor", "closed")
    await expect(inbox.locator("#answer")).to_have_count(0)
    await expect(inbox.locator("#about form[action$=block]")).to_have_count(0)


async def test_who_has_it_is_named(inbox, people, workspace, browser, door):
    row = inbox.locator(f"#thread-{people['ada'].conversation}")
    async with visiting(browser) as another:
        other = await signed_in(another, door, workspace, "zoe@example.org", "agent")
        zoe = await db.value("SELECT id FROM user_account WHERE email = 'zoe@example.org'")
        await acts.reply(workspace, people["ada"].conversation, zoe, "Zoe's words")
        await expect(row).to_contain_text("With Zoe")
        await other.goto(f"{door}/inbox")
        same = other.locator(f"#thread-{people['ada'].conversation}")
        await expect(same).to_contain_text("Answered")
        await expect(same).to_contain_text(PEOPLE["ada"])  # the visitor's words stay


async def test_a_long_address_leaves_the_time_in_its_row(inbox, people, workspace):
    await db.rows("UPDATE lead SET name = NULL, email = $1 WHERE email = $2", "a" * 200 + "@example.com", PEOPLE["ada"])
    await inbox.reload()
    row = inbox.locator(f"#thread-{people['ada'].conversation}")
    inside = "row => row.querySelector('time').getBoundingClientRect().right <= row.getBoundingClientRect().right"
    assert await row.evaluate(inside)


async def test_arabic_is_read_from_the_right_and_addresses_are_links(inbox, people):
    await people["ada"].says("مرحبا، هل يمكنك المساعدة؟")
    await people["ada"].says("See https://example.com/a?b=1&c=(2). or javascript:alert(1) <b>")
    await opened(inbox, people, "ada")
    arabic = inbox.locator("#log p", has_text="مرحبا")
    assert await arabic.evaluate("one => getComputedStyle(one).direction") == "rtl"
    link = inbox.locator("#log p a")
    await expect(link).to_have_count(1)
    await expect(link).to_have_attribute("href", "https://example.com/a?b=1&c=(2)")
    await expect(link).to_have_attribute("rel", "noopener noreferrer nofollow")
    await expect(link).to_have_attribute("target", "_blank")


async def test_parts_that_contain_each_other_are_taken_over_once(inbox, people):
    await inbox.evaluate("document.querySelector('#threads nav a').dataset.update = '#threads,#inbox,#inbox'")
    await inbox.get_by_role("link", name="Mine", exact=True).click()
    await expect(inbox.get_by_role("link", name="Mine", exact=True)).to_have_attribute("aria-current", "true")
    await expect(inbox.locator("#threads")).to_contain_text("You have no conversation just now.")


async def test_a_toast_leaves_the_composer_free(inbox, people, visit):
    await opened(inbox, people, "ada")
    await inbox.route("**/note", lambda route: route.abort())
    await inbox.get_by_label("Note").fill("Lost?")
    await inbox.get_by_label("Note").press("Control+Enter")
    toast = inbox.locator("#toast")
    await expect(toast).to_contain_text("No connection")
    above, below = await toast.bounding_box(), await inbox.locator("#answer").bounding_box()
    assert above["y"] + above["height"] <= below["y"]
    visit.complaints = [told for told in visit.complaints if "ERR_FAILED" not in told]


async def test_words_for_somebody_who_has_left_are_not_lost(inbox, people, workspace, door):
    await opened(inbox, people, "ada")
    await inbox.get_by_label("Answer", exact=True).fill("It is on its way")
    await conversation_reads.end(workspace, people["ada"].conversation, "visitor", "closed")
    unsent = inbox.get_by_label("Not sent")
    for _ in range(2):
        await expect(unsent).to_have_value("It is on its way")
        await expect(unsent).to_be_visible()
        await inbox.reload()
    await conversation_reads.end(workspace, people["grace"].conversation, "visitor", "closed")
    await inbox.goto(f"{door}/inbox?c={people['grace'].conversation}")
    await expect(inbox.locator("#state")).to_contain_text("ended for good")
    await expect(unsent).to_be_hidden()
