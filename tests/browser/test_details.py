"""Small things on the screens that were wrong once, each looked at in a browser."""

import re
from datetime import timedelta

import pytest
from playwright.async_api import expect

from leadwire.domain.webhooks import changes
from leadwire.infrastructure import clock, db
from leadwire.interfaces.web import rendering
from tests import make
from tests.browser.conftest import visiting
from tests.browser.desk import signed_in
from tests.delivery.wired import Wire, endpoint
from tests.waiting import eventually


async def died(workspace, bot, receiver):
    """An endpoint with one dead letter."""
    receiver.answer = 410
    made = await endpoint(workspace, receiver.url)
    await make.lead(workspace, bot)
    await eventually(lambda: db.value("SELECT count(*) FROM every_delivery WHERE state = 'dead'"))
    return made


async def test_a_refused_sign_in_says_so_once_with_the_focus_on_the_password(visit, page, door):
    await page.get_by_label("Sign out").click()
    await page.get_by_label("E-mail").fill("ada@example.org")
    await page.get_by_label("Password").fill("not this one")
    await page.get_by_role("button", name="Sign in").click()
    await expect(page.get_by_text("E-mail or password is not right.")).to_have_count(1)
    await expect(page.get_by_label("E-mail")).to_have_value("ada@example.org")
    await expect(page.get_by_label("Password")).to_be_focused()
    visit.complaints = [told for told in visit.complaints if "422" not in told]


async def test_a_refused_password_is_said_once_with_the_focus_on_it(visit, door, workspace):
    from leadwire.domain.accounts.changes import team

    page = await visit.page()
    await page.goto(f"{door}/join/{await team.invite(workspace, None, 'agent')}")
    await expect(page.get_by_role("heading")).to_have_text(re.compile("^Join the .+ workspace$"))
    await page.get_by_label("Your name").fill("Mary Jackson")
    await page.get_by_label("E-mail").fill("mary@example.org")
    await page.get_by_label("Password").fill("aaaaaaaaaaaa")
    await page.get_by_role("button", name="Create my account").click()
    await expect(page.get_by_text("Too easy to guess")).to_have_count(1)
    await expect(page.get_by_label("Your name")).to_have_value("Mary Jackson")
    await expect(page.get_by_label("Password")).to_be_focused()
    visit.complaints = [told for told in visit.complaints if "422" not in told]


async def test_the_first_event_shows_by_itself(page, door, workspace, bot, wire, receiver):
    made = await endpoint(workspace, receiver.url, "lead.created")
    await page.goto(f"{door}/webhooks/{made.id}")
    await expect(page.locator("#top .pill").first).to_have_text("No traffic")
    await make.lead(workspace, bot)
    await expect(page.locator("#top .pill").first).to_have_text("Healthy")
    await expect(page.locator("#traffic dd").first).to_have_text("1")
    await expect(page.locator("#deliveries tbody tr")).to_have_count(1)


async def test_a_waiting_delivery_says_when_it_is_due_with_one_stop(page, door, workspace, bot, wire, receiver):
    receiver.answer = 500
    made = await endpoint(workspace, receiver.url, "lead.created")
    await make.lead(workspace, bot)
    await eventually(lambda: db.value("SELECT count(*) FROM every_delivery WHERE state = 'waiting' AND attempts = 1"))
    await db.rows("UPDATE delivery SET due_at = now() + interval '1 hour'")  # later than the page needs
    await page.goto(f"{door}/deliveries/{await db.value('SELECT event_id FROM every_delivery')}/{made.id}")
    await expect(page.locator(".why")).to_contain_text("Due in ")
    await expect(page.locator(".why")).not_to_contain_text("..")
    await expect(page.locator(".why")).to_contain_text("Your server returned an error (500)")


async def test_a_filter_takes_the_time_that_a_tooltip_tells(page, door, workspace, bot, wire, receiver):
    await died(workspace, bot, receiver)
    for path in ("/deliveries", "/deliveries?stage=dead"):
        await page.goto(f"{door}{path}")
        await expect(page.get_by_label("From (your time)")).to_have_value("")
        await expect(page.get_by_label("to (your time)")).to_have_value("")
        told = await page.locator("table.rows time").first.get_attribute("title")
        assert re.match(r"\w{3} \d\d \w{3} \d{4} \d\d:\d\d:\d\d UTC\n.+ \(your time\)$", told)
    day, clock = told.split(" UTC")[0][4:15], told.split(" UTC")[0][16:21]
    since = await page.evaluate(
        """([day, clock]) => {
            const at = new Date(`${day} ${clock} UTC`);
            return new Date(at - at.getTimezoneOffset() * 60000).toISOString().slice(0, 16);
        }""",
        [day, clock],
    )
    await page.get_by_label("From (your time)").fill(since)  # what the tooltip says is what the filter takes
    await expect(page).to_have_url(re.compile("since="))
    await expect(page.locator("#found table.rows tbody tr")).to_have_count(1)


async def test_dead_letters_fit_and_leave_tests_out(page, door, workspace, bot, wire, receiver):
    made = await died(workspace, bot, receiver)
    await changes.send_test(workspace, made.id)
    await eventually(lambda: db.value("SELECT count(*) = 1 FROM every_delivery WHERE state = 'dead' AND test"))
    await page.set_viewport_size({"width": 1440, "height": 900})
    await page.goto(f"{door}/deliveries?stage=dead")
    await expect(page.locator("#found tbody tr")).to_have_count(1)
    await expect(page.locator("#redrive")).to_contain_text("1 delivery matches")
    assert await page.locator("#found").evaluate("found => found.scrollWidth - found.clientWidth") == 0


async def test_on_a_phone_rows_say_what_their_figures_are(browser, door, workspace, bot, wire, receiver):
    await died(workspace, bot, receiver)
    async with visiting(browser, viewport={"width": 390, "height": 844}) as visit:
        page = await signed_in(visit, door, workspace, "mary@example.org")
        for path, names in (
            ("/webhooks", ["State", "Success", "95 % within"]),
            ("/bots", ["State", "Leads, 30 days"]),
        ):
            await page.goto(f"{door}{path}")
            told = (
                await page.locator("table.rows tbody tr")
                .first.locator("td")
                .evaluate_all("cells => cells.map(cell => getComputedStyle(cell, '::before').content)")
            )
            assert {f'"{name}"' for name in names} <= set(told)


async def test_on_a_phone_a_row_of_a_long_list_has_two_lines(browser, door, workspace, bot, wire, receiver):
    await died(workspace, bot, receiver)
    async with visiting(browser, viewport={"width": 390, "height": 844}) as visit:
        page = await signed_in(visit, door, workspace, "mary@example.org")
        for path in ("/deliveries", "/deliveries?stage=dead", "/conversations", "/audit"):
            await page.goto(f"{door}{path}")
            heights = await page.locator("table.rows tbody tr").evaluate_all(
                "rows => rows.map(row => row.offsetHeight)"
            )
            assert heights, path
            # Pixels. What an entry of the audit log says besides is a third line.
            assert max(heights) < (100 if path == "/audit" else 80), path


async def test_a_failed_test_says_what_to_do(page, door, workspace, wire):
    made = await changes.create(workspace, "http://127.0.0.1:9002/nobody", ["lead.created"])
    await page.goto(f"{door}/webhooks/{made.id}/setup/test")
    await page.get_by_role("button", name="Send test").click()
    await expect(page.locator("#test .error")).to_have_text(re.compile("^Nothing accepts connections there"))
    await expect(page.get_by_text("Technical detail")).to_be_visible()
    await page.get_by_role("link", name="Next").click()
    await expect(page.locator(".stepper li", has_text="Test")).not_to_have_class("done")


@pytest.mark.parametrize("tested", [True, False])
async def test_the_step_of_the_test_is_ticked_when_it_was_done(page, door, workspace, wire, receiver, tested):
    made = await changes.create(workspace, receiver.url, ["lead.created"])
    await page.goto(f"{door}/webhooks/{made.id}/setup/test")
    if tested:
        await page.get_by_role("button", name="Send test").click()
        await expect(page.get_by_text("It works")).to_be_visible()
    await page.get_by_role("link", name=re.compile("^(Next|Skip)$")).click()
    await expect(page.locator(".stepper li", has_text="Secret")).to_have_class("done")
    step = page.locator(".stepper li", has_text="Test")
    await (expect(step).to_have_class("done") if tested else expect(step).not_to_have_class("done"))


@pytest.mark.parametrize(
    ("role", "entries"),
    [
        ("viewer", ["Overview", "Conversations", "Leads", "Bots", "Endpoints", "Deliveries"]),
        ("agent", ["Overview", "Inbox", "Leads", "Bots"]),
        ("admin", ["Overview", "Inbox", "Leads", "Bots", "Endpoints", "Deliveries", "Settings", "System"]),
    ],
)
async def test_the_menu_has_what_the_role_works_with(visit, door, workspace, role, entries):
    page = await signed_in(visit, door, workspace, "mary@example.org", role)
    await expect(page.locator("#menu li a")).to_have_text(entries)
    await expect(page.locator("#menu [aria-current]")).to_have_text("Inbox" if role == "agent" else "Overview")
    await page.get_by_role("link", name="Overview").click()
    await page.get_by_role("link", name="90 d").click()
    await expect(page.get_by_role("link", name="90 d")).to_have_attribute("aria-current", "true")
    await page.get_by_role("link", name="Reports").click()
    await expect(page.get_by_text("The last 90 days (UTC), beside")).to_be_visible()
    await expect(page.locator("#menu [aria-current]")).to_have_text("Overview")


async def test_a_new_key_reads_unless_more_is_chosen(page, door):
    await page.goto(f"{door}/keys")
    ticked = await page.locator("[name=scope]:checked").evaluate_all("boxes => boxes.map(box => box.value)")
    assert ticked == ["leads:read", "conversations:read", "bots:read", "events:read"]


async def test_a_lead_s_deliveries_name_their_endpoints(page, door, workspace, bot, receiver, wire):
    await died(workspace, bot, receiver)
    lead = await db.value("SELECT id FROM lead")
    await page.goto(f"{door}/leads/{lead}")
    link = page.locator(".sent a").first
    await expect(link).to_contain_text(f"127.0.0.1:{receiver.port}/hook")
    pill, row = await link.locator(".pill").bounding_box(), await link.bounding_box()
    assert pill["height"] < 26
    assert row["height"] < 30


async def test_a_pill_is_as_wide_as_its_word(page, door, workspace, bot, redis):
    await endpoint(workspace, "http://127.0.0.1:9002/nobody", "lead.created")
    lead = await make.lead(workspace, bot)
    async with Wire(redis) as wire:
        await wire.relay()
    await db.rows("UPDATE delivery SET state = 'waiting', queued_at = NULL")
    await page.goto(f"{door}/leads/{lead.id}")
    pill = page.locator(".sent .pill").first
    await expect(pill).to_have_text("Waiting")
    unused = "pill => { const text = document.createRange(); text.selectNodeContents(pill);"
    unused += " return pill.getBoundingClientRect().right - text.getBoundingClientRect().right }"
    assert await pill.evaluate(unused) < 12


_TIMES = """(times) => document.body.append(...times.map(([at, waits]) => {
  const time = Object.assign(document.createElement("time"), { dateTime: at, className: "told" });
  if (waits) time.dataset.waits = "";
  return time;
}))"""


async def test_times_are_retold_in_the_words_that_came(visit, door):
    """The page retells its times every 10 seconds; none changes its words by that."""
    page = await visit.page()
    now = clock.now().replace(microsecond=0)
    await page.clock.install(time=now - timedelta(hours=1))
    await page.goto(f"{door}/sign-in")
    await page.clock.pause_at(now - timedelta(seconds=10))
    past = [0, 1, 59, 60, 119, 3599, 3600, 7199, 7200, 86_399, 86_400, 172_799, 172_800, 345_599, 2_592_000]
    away = [*(-seconds for seconds in past), *(seconds for seconds in past if seconds), 2_592_001]
    at = [now + timedelta(seconds=seconds) for seconds in away]
    since = [now - timedelta(seconds=seconds) for seconds in past]
    await page.evaluate(_TIMES, [[clock.iso(one), False] for one in at] + [[clock.iso(one), True] for one in since])
    await page.clock.run_for(10_000)
    expected = [rendering.relative(seconds, f"{one:%Y-%m-%d}") for seconds, one in zip(away, at, strict=True)]
    expected += [rendering.lasting(timedelta(seconds=seconds)) for seconds in past]
    assert await page.locator("time.told").all_inner_texts() == expected
