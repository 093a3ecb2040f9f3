"""Finding what somebody said, and working through a list of leads, in a browser."""

import pytest
from playwright.async_api import expect

from leadwire.domain.conversations import changes as conversations
from leadwire.domain.leads import changes as leads
from leadwire.domain.leads import reads
from leadwire.domain.leads.schema import LeadPatch, custom_fields
from leadwire.infrastructure import db
from tests import jobs, make
from tests.browser.desk import COMPOSE


@pytest.fixture
async def people(workspace, bot):
    made = [
        await make.lead(workspace, bot, name=name, email=f"{name}@example.com".lower(), custom_fields={"stage": "New"})
        for name in ("Ada", "Bo", "Cy")
    ]
    await conversations.add_message(workspace, made[1].conversation_id, "user", "Where is my <i>parcel</i> then?")
    await jobs.run("search.take", "search")
    return made


async def fields(workspace, lead):
    return custom_fields((await reads.stored(workspace, lead.id)).lead)


async def test_a_slash_leads_to_what_was_said(page, people):
    await page.keyboard.press("/")
    await page.keyboard.type("parcel")
    await page.keyboard.press("Enter")
    await expect(page.locator("mark")).to_have_text(["parcel"])
    await expect(page.get_by_text("Where is my <i>parcel</i> then?")).to_be_visible()
    asked = page.get_by_role("searchbox", name="Search for")
    await asked.fill("parcel status:ended")  # it follows what is typed
    await expect(page.get_by_text("Nothing found.")).to_be_visible()
    await asked.fill("parcel shelf:3")
    await expect(page.get_by_role("status").filter(has_text="shelf: is not a filter.")).to_be_visible()
    await asked.fill("ada")
    await page.locator(".found a").filter(has_text="Ada").first.click()
    await expect(page).to_have_title("Ada · Leadwire")


async def test_the_command_menu_leads_to_screens_and_people(page, people):
    title = await page.title()
    await page.keyboard.press("Control+k")
    field = page.get_by_role("dialog").get_by_role("searchbox")
    await expect(field).to_be_focused()
    await page.keyboard.type("ada")
    await expect(page.get_by_role("dialog").locator(".found a").first).to_contain_text("Ada")
    await page.keyboard.press("Escape")
    await expect(page).to_have_title(title)
    await page.get_by_role("link", name="Search").click()
    await page.keyboard.type("api k")
    assert await page.evaluate(COMPOSE)
    await page.keyboard.press("Enter")
    await expect(page).to_have_title("API keys · Leadwire")
    await page.keyboard.press("Control+k")
    await page.keyboard.type("ada")
    await expect(page.get_by_role("dialog").locator(".found a").first).to_contain_text("Ada")
    await page.keyboard.press("ArrowDown")
    await page.keyboard.press("Enter")
    await expect(page).to_have_title("Ada · Leadwire")


async def test_columns_cells_and_a_conflict(page, visit, door, workspace, people):
    await page.goto(f"{door}/leads")
    await page.get_by_text("Columns", exact=True).click()
    await page.get_by_role("checkbox", name="stage").check()
    await page.get_by_role("button", name="Show these").click()
    row = page.get_by_role("row").filter(has_text="bo@example.com")
    await row.locator(".cell summary").click()
    await row.get_by_label("stage").fill("Won")
    await row.get_by_role("button", name="Save").click()
    await expect(row.locator(".cell summary")).to_contain_text("Won")
    assert await fields(workspace, people[1]) == {"stage": "Won"}

    await leads.update(workspace, people[1].id, LeadPatch(custom_fields={"stage": "Lost"}), unchanged={})
    await row.locator(".cell summary").click()
    await row.get_by_label("stage").fill("Paid")
    await row.get_by_role("button", name="Save").click()
    await expect(row.get_by_text("Somebody else has changed stage. It is Lost now.")).to_be_visible()
    await expect(row.get_by_label("stage")).to_have_value("Paid")
    await row.get_by_role("button", name="Save").click()  # now on purpose
    await expect(row.locator(".cell summary")).to_contain_text("Paid")
    assert await fields(workspace, people[1]) == {"stage": "Paid"}
    assert all("409" in said for said in visit.complaints)
    visit.complaints.clear()


async def test_a_view_then_many_set_and_many_erased(page, door, workspace, people):
    await page.goto(f"{door}/leads?field=stage&value=new")
    await page.get_by_text("Save view").click()
    await page.get_by_label("Name", exact=True).fill("To call")
    await page.get_by_role("button", name="Save as a new view").click()
    await expect(page.get_by_role("heading", name="To call")).to_be_visible()

    await page.get_by_role("checkbox", name="Cy").check()
    await page.get_by_role("checkbox", name="Ada").check()
    await page.get_by_text("Change many").click()
    await expect(page.get_by_text("Those that are ticked: 2")).to_be_visible()
    await page.get_by_label("Custom field", exact=True).last.fill("stage")
    await page.get_by_label("Value", exact=True).last.fill("Called")
    await page.get_by_role("button", name="Set", exact=True).click()
    await expect(page.locator("#job")).to_contain_text("Running")
    await jobs.run("bulk_change")
    await expect(page.get_by_role("heading", name="2 leads changed")).to_be_visible()  # live
    assert [(await fields(workspace, lead))["stage"] for lead in people] == ["Called", "New", "Called"]

    await page.get_by_role("link", name="Back to leads").click()
    await page.get_by_role("link", name="To call").click()
    await jobs.run("search.take", "search")
    await page.reload()
    await expect(page.locator("a.cover")).to_have_text(["Bo"])
    await page.get_by_text("Change many").click()
    await page.get_by_label("All that match").check()
    await page.get_by_label("To erase these people").fill("erase")
    await page.get_by_role("button", name="Erase", exact=True).click()
    await expect(page.locator("#job")).to_contain_text("Running")
    await jobs.run("bulk_change")
    await expect(page.get_by_role("heading", name="1 lead erased")).to_be_visible()
    assert await db.value("SELECT count(*) FROM lead") == 2
