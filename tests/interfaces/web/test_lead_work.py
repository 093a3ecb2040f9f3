"""Working through leads: columns, filters on custom fields, cells, views, and changes of many at once."""

import csv
import re
import secrets

import pytest

from leadwire.domain.accounts import changes as accounts
from leadwire.domain.bots import changes as bots
from leadwire.domain.bulk_changes import changes
from leadwire.domain.bulk_changes import jobs as bulk_jobs
from leadwire.domain.leads import changes as leads
from leadwire.domain.leads import reads
from leadwire.domain.leads.schema import LeadPatch, custom_fields
from leadwire.domain.search import reads as found
from leadwire.infrastructure import clock, db
from leadwire.infrastructure.jobs import Claimed
from tests import jobs, make
from tests.domain.bots.conftest import published
from tests.interfaces.web.conftest import PASSWORD, signed_in
from tests.interfaces.web.hostile import seen
from tests.interfaces.web.test_leads import names

FLOW = """
format = 1
start = "email"

[[nodes]]
type = "ask"
id = "email"
text = "Your e-mail?"
input = "email"
save_to = "email"
next = "human"

[[nodes]]
type = "handoff"
id = "human"
text = "One moment."
"""


@pytest.fixture
async def three(workspace, bot):
    """Three leads, of which two are in a stage."""
    made = []
    for name, fields in (("Ada", {"stage": "New"}), ("Bo", {"stage": "Won", "seats": 5}), ("Cy", {})):
        email = f"{name}@example.com".lower()
        made.append(await make.lead(workspace, bot, name=name, email=email, custom_fields=fields))
    await indexed()
    return made


async def indexed():
    await jobs.run("search.take", "search")


async def finished():
    await jobs.run("bulk_change")


async def fields_of(workspace, lead):
    return custom_fields((await reads.stored(workspace, lead.id)).lead)


def seen_at(page):
    return re.search(r'name="seen_at" value="([^"]+)"', page)[1]


@pytest.mark.parametrize("few", [found.FEW, 0])  # by the index, and by walking
@pytest.mark.parametrize(
    ("query", "who"),
    [
        ("field=stage&test=equals&value=new", ["Ada"]),
        ("field=stage&test=set", ["Bo", "Ada"]),
        ("field=stage&test=contains&value=o", ["Bo"]),
        ("field=seats&value=5", ["Bo"]),
        ("field=stage&value=new&q=bo", []),
        ("field=nothing&value=x", []),
        ("field=stage&test=set&field2=seats&value2=5", ["Bo"]),
        ("field=stage&value=won&field2=seats&value2=6", []),
        ("field2=stage&test2=contains&value2=N&field3=stage&test3=contains&value3=o", ["Bo"]),
        ("field=stage&test=set&field2=stage&test2=contains&value2=e", ["Ada"]),
        ("field=%27)--&test=contains&value=%25", []),
    ],
)
async def test_leads_are_filtered_by_a_custom_field(viewer, three, monkeypatch, query, who, few):
    monkeypatch.setattr(found, "FEW", few)
    assert names(await viewer.open(f"/leads?{query}")) == who


async def test_a_number_is_found_as_it_is_shown(viewer, workspace, three, monkeypatch):
    """Among many leads it was looked for as Python writes it, 1e+16."""
    monkeypatch.setattr(reads, "_FIRST", 1)
    await leads.update(workspace, three[0].id, LeadPatch(custom_fields={"rows": 1e16}), unchanged={})
    await indexed()
    assert names(await viewer.open("/leads?field=rows&value=1e16")) == ["Ada"]


async def test_a_filter_finds_nobody_of_another_workspace(viewer, three):
    other = await accounts.create_workspace("Other")
    await make.lead(other, await bots.create(other, "Theirs"), name="Eve", custom_fields={"stage": "New"})
    await indexed()
    assert names(await viewer.open("/leads?field=stage&value=new")) == ["Ada"]


async def test_each_person_chooses_columns_and_they_are_remembered(admin, agent, three):
    page = await admin.open("/leads")
    assert "<th>stage</th>" not in page
    page = await admin.fill("/leads/columns", column=["stage", "seats"])
    assert "<th>stage</th><th>seats</th>" in page
    assert "<th>stage</th>" in await admin.open("/leads")
    assert "<th>stage</th>" not in await agent.open("/leads")
    page = await admin.fill("/leads/columns", 422, column=[f"field {n}" for n in range(150)])
    assert "At most 6 columns" in page
    assert "<th>stage</th>" not in await admin.fill("/leads/columns")


async def test_a_cell_is_edited_in_place_with_its_event(agent, workspace, three):
    ada, bo, _ = three
    await agent.open("/leads")
    await agent.fill("/leads/columns", column=["stage", "seats"])
    await make.emitted(forget=True)
    page = await agent.fill(f"/leads/{ada.id}/field?sort=oldest", field="stage", was="New", value="Won")
    assert names(page) == ["Ada", "Bo", "Cy"]
    await agent.fill(f"/leads/{bo.id}/field", field="seats", was="5", value="7")
    await agent.fill(f"/leads/{bo.id}/field", field="stage", was="Won", value="")
    assert await fields_of(workspace, ada) == {"stage": "Won"}
    assert await fields_of(workspace, bo) == {"seats": 7}
    assert [event["data"]["previous_attributes"] for event in await make.emitted()] == [
        {"custom_fields": {"stage": "New"}}, {"custom_fields": {"seats": 5}}, {"custom_fields": {"stage": "Won"}},
    ]  # fmt: skip
    details = await db.rows("SELECT detail FROM audit_entry WHERE action = 'lead.updated' ORDER BY id")
    assert [row["detail"] for row in details] == [f"custom_fields: {name}" for name in ("stage", "seats", "stage")]


@pytest.mark.parametrize("end", ["\n", "\r\n", "\r"])
async def test_a_text_of_several_lines_is_edited_as_one(agent, workspace, three, end):
    """A field of one line has no line ends: a browser drops them, and saving joined the lines."""
    ada = three[0]
    await leads.update(workspace, ada.id, LeadPatch(custom_fields={"stage": f"New{end}since May"}), unchanged={})
    await agent.open("/leads")
    shown = '<textarea name="value" rows="3" maxlength="1000">New\nsince May</textarea>'
    assert shown in await agent.fill("/leads/columns", column="stage")
    assert shown in await agent.open(f"/leads/{ada.id}")
    version = (await reads.stored(workspace, ada.id)).version
    sent = "New\r\nsince May"
    await agent.fill(f"/leads/{ada.id}", seen=seen(await agent.open(f"/leads/{ada.id}")), key="stage", value=sent)
    assert (await reads.stored(workspace, ada.id)).version == version
    await agent.fill(f"/leads/{ada.id}/field", field="stage", was=sent, value=f"{sent}\r\nagain")
    assert await fields_of(workspace, ada) == {"stage": "New\nsince May\nagain"}


async def test_a_cell_that_somebody_else_has_changed_is_not_overwritten(agent, workspace, three):
    ada = three[0]
    await agent.open("/leads")
    await agent.fill("/leads/columns", column="stage")
    await leads.update(workspace, ada.id, LeadPatch(custom_fields={"stage": "Lost"}), unchanged={})
    page = await agent.fill(f"/leads/{ada.id}/field", 409, field="stage", was="New", value="Won")
    assert "Somebody else has changed stage. It is Lost now." in page
    assert 'name="value" value="Won"' in page
    assert 'name="was" value="Lost"' in page
    assert await fields_of(workspace, ada) == {"stage": "Lost"}


@pytest.mark.parametrize("value", ["x" * 1001, "a\u202eb"])
async def test_a_cell_takes_no_more_than_a_field_may_have(agent, workspace, three, value):
    await agent.open("/leads")
    page = await agent.fill(f"/leads/{three[0].id}/field", 422, field="stage", was="New", value=value)
    assert "This custom field cannot be set." in page
    assert await fields_of(workspace, three[0]) == {"stage": "New"}


async def test_a_huge_cell_is_refused(agent, three):
    await agent.open("/leads")
    data = {"form_token": agent.token, "field": "stage", "was": "New", "value": "x" * 5_000_000}
    assert (await agent.post(f"/leads/{three[0].id}/field", data=data)).status_code == 413


async def test_a_view_is_saved_for_oneself_or_for_everybody_and_removed(admin, agent, viewer, three):
    await agent.open("/leads")
    address = "/leads/views?field=stage&value=won&q=bo&field3=seats&test3=set"
    page = await agent.fill(address, name="Won ones", column="stage")
    assert names(page) == ["Bo"]
    assert "<h1>Won ones</h1>" in page
    assert "<th>stage</th>" in page
    assert "q=bo" not in page  # what was searched for may be a person
    assert "/leads?field=stage&amp;value=won&amp;field3=seats&amp;test3=set&amp;view=" in page
    assert "Won ones" not in await admin.open("/leads")
    assert "There is a view called won ONES already." in await agent.fill(address, 409, name="won ONES")
    await agent.fill("/leads/views?score_min=70", name="Hot", shared="1")
    page = await viewer.open("/leads")
    assert "Hot" in page
    view = re.search(r'href="(/leads\?[^"]*view=(\w+))"', page)
    assert "Hot" in await viewer.open(view[1].replace("&amp;", "&"))
    await agent.open("/leads")
    await agent.fill(f"/leads/views/{view[2]}/remove", 404)
    await admin.fill(f"/leads/views/{view[2]}/remove")
    assert ">Hot<" not in await viewer.open("/leads")


async def test_those_that_are_ticked_are_exported(agent, workspace, three):
    other = await accounts.create_workspace("Other")
    theirs = await make.lead(other, await bots.create(other, "Theirs"), name="Eve")
    await agent.open("/leads")
    ticked = {"form_token": agent.token, "ticked": "csv", "lead": [three[0].id, three[2].id, theirs.id, "lead_x"]}
    for sort, who in (("newest", ["Cy", "Ada"]), ("oldest", ["Ada", "Cy"])):
        answer = await agent.post(f"/leads/export?sort={sort}&q=nobody", data=ticked)
        assert [row["name"] for row in csv.DictReader(answer.content.decode("utf-8-sig").splitlines())] == who
    assert await db.value("SELECT detail FROM audit_entry WHERE action = 'leads.exported'") == "csv: 4 chosen"
    assert "Tick the leads to be exported." in await agent.fill("/leads/export", 422, ticked="csv")
    await agent.fill("/leads/export", 422, ticked="xlsx", lead=three[0].id)


async def test_a_field_is_set_in_those_that_are_ticked(agent, workspace, three):
    page = await agent.open("/leads")
    await make.emitted(forget=True)
    ticked = [three[0].id, three[2].id, "lead_nothing"]
    page = await agent.fill("/leads/bulk", lead=ticked, field="stage", value="Called", seen_at=seen_at(page))
    assert "Running" in page
    await finished()
    assert [await fields_of(workspace, lead) for lead in three] == [
        {"stage": "Called"}, {"stage": "Won", "seats": 5}, {"stage": "Called"},
    ]  # fmt: skip
    assert [event["event"] for event in await make.emitted()] == ["lead.updated"] * 2
    entries = await db.rows("SELECT action, detail FROM audit_entry WHERE action ~ '^leads.set' ")
    assert [tuple(row) for row in entries] == [("leads.set", "stage: 3 chosen")]


async def test_what_was_changed_since_the_list_was_seen_is_left_alone_and_named(agent, workspace, three):
    page = await agent.open("/leads?field=stage&test=set")
    await leads.update(workspace, three[0].id, LeadPatch(name="Ada Lovelace"), unchanged={})
    page = await agent.fill(
        "/leads/bulk?field=stage&test=set", all="1", field="stage", value="Lost", seen_at=seen_at(page)
    )
    await finished()
    assert [await fields_of(workspace, lead) for lead in three] == [{"stage": "New"}, {"stage": "Lost", "seats": 5}, {}]
    bulk = re.search(r"/leads/bulk/(\w+)", page)[1]
    page = await agent.open(f"/leads/bulk/{bulk}")
    assert "1 lead changed" in page
    assert f'href="/leads/{three[0].id}"' in page
    assert await db.value("SELECT query FROM bulk_change") == ""


async def test_admins_erase_many_once_they_have_typed_it(admin, agent, workspace, three):
    page = await admin.open("/leads")
    form = {"all": "1", "seen_at": seen_at(page)}
    assert "Type erase to erase these people." in await admin.fill("/leads/erase", 422, **form, confirm="yes")
    await agent.open("/leads")
    assert "This takes the role admin" in await agent.fill("/leads/erase", 403, **form, confirm="erase")
    assert await db.value("SELECT count(*) FROM bulk_change") == 0
    page = await admin.fill("/leads/erase", **form, confirm="erase")
    await finished()
    assert await db.value("SELECT count(*) FROM lead") == 0
    assert [kind for kind in await make.kinds() if kind == "lead.deleted"] == ["lead.deleted"] * 3


async def test_enter_in_the_field_that_confirms_an_erasure_changes_nothing(admin, three):
    """It presses the first button of the form, which sets a field."""
    form = {"all": "1", "seen_at": seen_at(await admin.open("/leads")), "field": "stage", "value": ""}
    assert "Press Erase, or empty this field." in await admin.fill("/leads/bulk", 422, **form, confirm="erase")
    assert await db.value("SELECT count(*) FROM bulk_change") == 0
    assert "Running" in await admin.fill("/leads/bulk", **form, confirm="")


async def test_erasing_many_asks_for_the_password_first(admin, three):
    form = {"all": "1", "seen_at": seen_at(await admin.open("/leads")), "confirm": "erase"}
    await db.rows("UPDATE user_session SET confirmed_at = confirmed_at - interval '11 minutes'")
    assert "Confirm it is you" in await admin.fill("/leads/erase", **form)
    assert await db.value("SELECT count(*) FROM bulk_change") == 0
    assert "Running" in await admin.fill("/leads/erase", **form, confirm_password=PASSWORD)


@pytest.mark.parametrize("gone", ["UPDATE user_account SET role = 'agent'", "DELETE FROM user_account"])
async def test_people_are_not_erased_any_more_for_who_is_no_admin(admin, agent, workspace, three, monkeypatch, gone):
    monkeypatch.setattr(bulk_jobs, "_AT_ONCE", 1)
    form = {"all": "1", "seen_at": seen_at(await admin.open("/leads")), "confirm": "erase"}
    bulk = re.search(r"/leads/bulk/(\w+)", await admin.fill("/leads/erase", **form))[1]
    await bulk_jobs.make(Claimed(bulk, workspace))
    await db.rows(f"{gone} WHERE email = 'ada@example.org'")
    await finished()
    assert await db.value("SELECT count(*) FROM lead") == 2
    page = await agent.open(f"/leads/bulk/{bulk}")
    assert "Stopped" in page
    assert "The person who began this may not erase people any more. The rest is left as it is." in page


async def test_only_admins_cancel_what_a_colleague_began(admin, agent, workspace, three):
    async with signed_in(workspace, "agent", "kay@example.org") as other:
        seen = seen_at(await agent.open("/leads"))
        page = await agent.fill("/leads/bulk", all="1", field="owner", value="Bo", seen_at=seen)
        assert "Cancel the rest" in page
        job = re.search(r"/leads/bulk/\w+", page)[0]
        assert "Cancel the rest" not in await other.open(job)
        page = await other.fill(f"{job}/cancel", 403)
        assert "Only whoever began this change, or an admin, can cancel it." in page
        await admin.open(job)
        assert "Cancelled" in await admin.fill(f"{job}/cancel")


async def test_two_changes_of_the_same_leads_do_not_overwrite_each_other(agent, workspace, three):
    seen = seen_at(await agent.open("/leads"))
    for value in ("First", "Second"):
        await agent.fill("/leads/bulk", all="1", field="owner", value=value, seen_at=seen)
    await finished()
    rows = await db.rows("SELECT done, skipped, state FROM bulk_change ORDER BY created_at")
    assert [row["state"] for row in rows] == ["finished"] * 2
    assert [sum(row[name] for row in rows) for name in ("done", "skipped")] == [3, 3]
    owners = [(await fields_of(workspace, lead))["owner"] for lead in three]
    assert [owners.count(value) for value in ("First", "Second")] == [row["done"] for row in rows]


async def test_a_change_goes_on_where_it_stopped_and_can_be_cancelled(agent, workspace, three, monkeypatch):
    monkeypatch.setattr(bulk_jobs, "_AT_ONCE", 1)
    page = await agent.open("/leads")
    page = await agent.fill("/leads/bulk", all="1", field="owner", value="Bo", seen_at=seen_at(page))
    bulk = re.search(r"/leads/bulk/(\w+)", page)[1]
    assert await bulk_jobs.make(Claimed(bulk, workspace))
    assert await bulk_jobs.make(Claimed(bulk, workspace))
    assert await fields_of(workspace, three[0]) == {"stage": "New"}  # the oldest comes last
    await agent.fill(f"/leads/bulk/{bulk}/cancel")
    await finished()
    job = await db.row("SELECT done, state FROM bulk_change")
    assert tuple(job) == (2, "cancelled")
    await agent.fill(f"/leads/bulk/{bulk}/cancel", 404)


@pytest.mark.parametrize(
    ("value", "set_in"), [("new", [True, False, False]), ("won", [False, True, False]), ("x", [False] * 3)]
)
async def test_a_change_goes_on_past_many_that_do_not_match(agent, workspace, three, monkeypatch, value, set_in):
    monkeypatch.setattr(reads, "_FIRST", 1)
    monkeypatch.setattr(reads, "WALKED", 1)  # leads that are looked at at a time
    query = f"/leads/bulk?field=stage&test=contains&value={value}"
    seen = seen_at(await agent.open("/leads"))
    await agent.fill(query, all="1", field="owner", value="Bo", seen_at=seen)
    await finished()
    assert ["owner" in await fields_of(workspace, lead) for lead in three] == set_in
    assert await db.value("SELECT state FROM bulk_change") == "finished"


async def test_a_change_that_fails_does_not_hold_up_those_of_others(workspace, three, monkeypatch):
    other = await accounts.create_workspace("Other")
    lead = await make.lead(other, await bots.create(other, "Theirs"), name="Eve")
    search, seen = reads.search, clock.iso(clock.now())

    async def failing(place, *more):
        if place == workspace:
            raise db.Canceled
        return await search(place, *more)

    monkeypatch.setattr(reads, "search", failing)
    for place in (workspace, other):
        await changes.begin(place, await make.user(place), "set", reads.LeadSearch(), seen, "owner", "Bo")
    await finished()
    assert await fields_of(other, lead) == {"owner": "Bo"}


@pytest.mark.parametrize(
    ("given", "says"),
    [
        ({"field": "stage", "value": "x"}, "Choose 1 to 500 leads."),
        ({"all": "1", "field": "", "value": "x"}, "This custom field cannot be set."),
        ({"all": "1", "field": "a", "value": "x" * 1001}, "This custom field cannot be set."),
        ({"all": "1", "field": "a", "value": "x", "seen_at": "soon"}, "Load the list again."),
    ],
)
async def test_a_change_that_cannot_be_made_is_not_begun(agent, three, given, says):
    page = await agent.open("/leads")
    assert says in await agent.fill("/leads/bulk", 422, **{"seen_at": seen_at(page), **given})
    assert await db.value("SELECT count(*) FROM bulk_change") == 0


async def test_the_history_of_a_lead_says_who_changed_what(agent, client, anonymous, workspace):
    bot = await published(workspace, FLOW)
    said = {"content": "ada@example.com", "client_message_id": secrets.token_hex(12)}
    answer = await anonymous.post(f"/widget/v1/bots/{bot.id}/conversations", json=said)
    assert answer.status_code == 201, answer.text
    lead = await db.value("SELECT id FROM lead")
    assert (await client.patch(f"/v1/leads/{lead}", json={"score": 7})).status_code == 200
    await agent.open("/leads")
    await agent.fill(f"/leads/{lead}/field", field="stage", was="", value="Won")
    await agent.fill("/leads/bulk", lead=lead, field="stage", value="Lost", seen_at=clock.iso(clock.now()))
    await finished()
    page = await agent.open(f"/leads/{lead}")
    said = re.findall(r"</time> by ([^<]+)</span>", page)
    assert said[:3] == ["grace@example.org", "grace@example.org", "API key test"]
    assert set(said[3:]) == {"the visitor"}
