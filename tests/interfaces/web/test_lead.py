"""One lead on the screen: seen, corrected, taken along, erased."""

import re
from importlib import resources

import pytest

from leadwire.domain.accounts import changes as accounts
from leadwire.domain.bots import changes as bots
from leadwire.domain.conversations import changes as conversations
from leadwire.domain.conversations.changes import inbox
from leadwire.domain.exports.formats import FORMATS
from leadwire.domain.leads import changes, downloads, reads
from leadwire.domain.leads.reads import LeadSearch
from leadwire.domain.leads.schema import TEXTS, LeadPatch, custom_fields
from leadwire.infrastructure import db
from tests import make
from tests.interfaces.web.hostile import SCRIPTS, harmless, seen

API = resources.files("leadwire") / "docs" / "api.md"
FORM = {"name": "Ada", "email": "ada@example.com", "phone": "", "company": "", "score": "0"}


async def opened(browser, lead) -> dict[str, str]:
    """The form of the lead's page, as it stands."""
    return {**FORM, "seen": seen(await browser.open(f"/leads/{lead.id}"))}


async def kept(workspace, lead):
    return (await reads.stored(workspace, lead.id)).lead


async def test_a_change_is_kept_told_and_noted(agent, workspace, bot):
    lead = await make.lead(workspace, bot)
    form = await opened(agent, lead)
    page = await agent.fill(f"/leads/{lead.id}", **{**form, "name": "Ada Lovelace", "score": "77"})
    assert "Saved." in page
    now = await kept(workspace, lead)
    assert (now.name, now.score) == ("Ada Lovelace", 77)
    assert (await make.kinds())[-1] == "lead.updated"
    detail = await db.value("SELECT detail FROM audit_entry WHERE action = 'lead.updated' AND subject = $1", lead.id)
    assert detail == "name, score"  # which fields, never what they hold


async def test_saving_what_is_there_changes_nothing(agent, workspace, bot):
    fields = {"seats": 3, "share": 1.5, "paid": True, "note": "two\nlines", "text": "3"}
    lead = await make.lead(workspace, bot, custom_fields=fields, phone="020 7946 0000", company="Acorn")
    form = {**await opened(agent, lead), "phone": "020 7946 0000", "company": "Acorn"}
    values = ["3", "1.5", "true", "two\r\nlines", "3", ""]
    page = await agent.fill(f"/leads/{lead.id}", **form, key=[*fields, ""], value=values)
    assert "Nothing was different." in page
    assert (await reads.stored(workspace, lead.id)).version == 1
    assert "lead.updated" not in await make.kinds()


async def test_what_a_form_lacks_stays(agent, workspace, bot):
    """A page from before an upgrade has no field for what a lead has had since, and it was cleared."""
    lead = await make.lead(workspace, bot, company="Acorn")
    form = {name: value for name, value in (await opened(agent, lead)).items() if name not in ("company", "score")}
    assert 'value="Acorn"' in await agent.fill(f"/leads/{lead.id}", 422, **{**form, "email": "nonsense"})
    await agent.fill(f"/leads/{lead.id}", **{**form, "name": "Ada Lovelace"})
    now = await kept(workspace, lead)
    assert (now.name, now.company, now.score) == ("Ada Lovelace", "Acorn", lead.score)


@pytest.mark.parametrize("field", [*TEXTS, "score"])
async def test_each_field_of_a_lead_is_wherever_people_look_for_it(agent, workspace, bot, field):
    lead = await make.lead(workspace, bot, name="Ada", phone="020 7946 0000", company="Acorn")
    (head, _) = [chunk async for chunk in downloads.as_csv(workspace, LeadSearch(), {})]
    assert field in head.decode("utf-8-sig").strip().split(",")
    names = FORMATS["csv"][1]("leads", [], head=True)
    assert field in names.decode().strip().split(",")
    assert f'name="{field}"' in await agent.open(f"/leads/{lead.id}")
    panel = await agent.open(f"/inbox?c={lead.conversation_id}")
    assert field == "score" or f'name="{field}"' in panel
    patch = re.search(r"^\| `PATCH /v1/leads/\{id\}` .*$", API.read_text(), re.MULTILINE)
    assert field in re.findall(r"\w+", patch[0].split("merge patch of")[1])


async def test_custom_fields_keep_their_kind(agent, workspace, bot):
    lead = await make.lead(workspace, bot, custom_fields={"seats": 3, "paid": True, "gone": "x", "size": 5})
    form = await opened(agent, lead)
    keys, values = ["seats", "paid", "gone", "size", "stage"], ["4", "false", "", "many", "won"]
    await agent.fill(f"/leads/{lead.id}", **form, key=keys, value=values)
    assert custom_fields(await kept(workspace, lead)) == {"seats": 4, "paid": False, "size": "many", "stage": "won"}


async def test_a_custom_field_has_its_name_as_it_is(agent, workspace, bot):
    """Saving the form made a second field without the blanks, or was refused, whatever was changed in it."""
    lead = await make.lead(workspace, bot, custom_fields={" plan": "Gold", " ": "x", "plan": "Silver"})
    form = await opened(agent, lead)
    assert 'value=" plan"' in await agent.open(f"/leads/{lead.id}")
    page = await agent.fill(f"/leads/{lead.id}", **form, key=[" plan", " ", "plan"], value=["Free", "x", "Silver"])
    assert "Saved." in page
    assert custom_fields(await kept(workspace, lead)) == {" plan": "Free", " ": "x", "plan": "Silver"}


async def test_whoever_was_slower_is_told_and_loses_nothing(agent, workspace, bot):
    lead = await make.lead(workspace, bot, company="Acorn", custom_fields={"stage": "new"})
    form = {**await opened(agent, lead), "company": "Beacon", "key": ["stage"], "value": ["won"]}
    await changes.update(workspace, lead.id, LeadPatch(company="Cobalt", custom_fields={"stage": "lost"}), unchanged={})
    page = await agent.fill(f"/leads/{lead.id}", 412, **form)
    assert "Somebody else changed the same field" in page
    for mine, theirs in (("Beacon", "Cobalt"), ("won", "lost")):
        assert f'value="{mine}"' in page
        assert f"Now: {theirs}" in page
    await agent.fill(f"/leads/{lead.id}", **{**form, "seen": seen(page)})
    now = await kept(workspace, lead)
    assert (now.company, custom_fields(now)) == ("Beacon", {"stage": "won"})


async def test_what_a_colleague_changed_meanwhile_stays(agent, workspace, bot):
    """The second save put back everything that the form had shown at first."""
    lead = await make.lead(workspace, bot, company="Acorn", custom_fields={"stage": "new", "seats": 3, "gone": "x"})
    form = {**await opened(agent, lead), "name": "Ada Lovelace", "company": "Acorn"}
    rows = {"key": ["stage", "seats", "gone", "color"], "value": ["won", "3", "x", "red"]}
    theirs = LeadPatch(company="Cobalt", score=60, custom_fields={"seats": 4, "gone": None, "city": "Bath"})
    await changes.update(workspace, lead.id, theirs, unchanged={})
    page = await agent.fill(f"/leads/{lead.id}", 422, **form, **rows | {"key": ["stage", "seats", "gone", "x" * 65]})
    assert 'name="company" value="Cobalt"' in page
    assert [value in page for value in ('value="won"', 'value="3"', 'value="Bath"', 'value="gone"')] == [
        True,
        False,
        True,
        False,
    ]
    assert "Saved." in await agent.fill(f"/leads/{lead.id}", **form, **rows)
    now = await kept(workspace, lead)
    assert (now.name, now.company, now.score) == ("Ada Lovelace", "Cobalt", 60)
    assert custom_fields(now) == {"stage": "won", "seats": 4, "city": "Bath", "color": "red"}


@pytest.mark.parametrize(
    ("wrong", "told"),
    [
        ({"email": "no address"}, "email-fault"),
        ({"email": "", "phone": ""}, "email-fault"),
        ({"score": "101"}, "score-fault"),
        ({"score": ""}, "score-fault"),
        ({"score": "1e1"}, "score-fault"),
        ({"phone": "call me"}, "phone-fault"),
        ({"name": "a\u202eb"}, "name-fault"),
        ({"key": ["a", "a"], "value": ["1", "2"]}, "custom_fields-fault"),
        ({"key": [""], "value": ["1"]}, "custom_fields-fault"),
        ({"key": ["a"], "value": ["x" * 1001]}, "custom_fields-fault"),
    ],
)
async def test_what_is_wrong_is_told_beside_its_field(agent, workspace, bot, wrong, told):
    lead = await make.lead(workspace, bot)
    page = await agent.fill(f"/leads/{lead.id}", 422, **{**await opened(agent, lead), **wrong})
    assert page.count(f'id="{told}"') == 1
    assert (await reads.stored(workspace, lead.id)).version == 1


async def test_an_address_that_another_lead_has_is_refused(agent, workspace, bot):
    await make.lead(workspace, bot, email="bo@example.com")
    lead = await make.lead(workspace, bot)
    page = await agent.fill(f"/leads/{lead.id}", 409, **{**await opened(agent, lead), "email": "bo@example.com"})
    assert "Another lead of this bot has that e-mail address" in page


async def test_a_viewer_sees_and_cannot_change(viewer, workspace, bot):
    lead = await make.lead(workspace, bot, custom_fields={"stage": "won"})
    page = await viewer.open(f"/leads/{lead.id}")
    assert "won" in page
    assert 'name="seen"' not in page
    assert f'action="/leads/{lead.id}/erase"' not in page
    await viewer.fill(f"/leads/{lead.id}", 403, **FORM, seen="{}")
    await viewer.fill(f"/leads/{lead.id}/export", 403)


async def test_notes_are_for_those_who_answer_visitors(agent, viewer, workspace, bot):
    lead = await make.lead(workspace, bot)
    await inbox.note(workspace, lead.conversation_id, await make.user(workspace), "Wants a discount")
    pages = [await person.open(f"/leads/{lead.id}") for person in (agent, viewer)]
    assert ["Wants a discount" in page for page in pages] == [True, False]


async def test_the_history_says_what_became_different(viewer, workspace, bot):
    lead = await make.lead(workspace, bot, score=10, custom_fields={"stage": "new"})
    await changes.update(workspace, lead.id, LeadPatch(score=60, custom_fields={"stage": "won"}), unchanged={})
    page = await viewer.open(f"/leads/{lead.id}")
    assert 'title="lead.created">Became a lead<' in page
    assert "<b>score</b> <s>10</s> → <span>60</span>" in page
    assert "<b>stage</b> <s>new</s> → <span>won</span>" in page
    assert f'href="/conversations/{lead.conversation_id}"' in page


@pytest.mark.parametrize("typed", SCRIPTS)
async def test_what_visitors_typed_is_text(viewer, agent, workspace, bot, typed):
    lead = await make.lead(workspace, bot, name=typed, company=typed, custom_fields={typed[:60]: typed})
    await changes.update(workspace, lead.id, LeadPatch(name="x", custom_fields={typed[:60]: "y"}), unchanged={})
    await changes.update(workspace, lead.id, LeadPatch(name=typed, custom_fields={typed[:60]: typed}), unchanged={})
    for browser in (viewer, agent):
        harmless(await browser.open(f"/leads/{lead.id}"))
    harmless(await agent.fill(f"/leads/{lead.id}", 412, **{**FORM, "name": f"{typed}!", "seen": "nonsense"}))


async def test_a_person_is_erased_once_their_address_is_typed(admin, workspace, bot):
    lead = await make.lead(workspace, bot)
    await admin.open(f"/leads/{lead.id}")
    page = await admin.fill(f"/leads/{lead.id}/erase", 422, confirm="yes")
    assert "Type ada@example.com" in page
    assert await kept(workspace, lead)
    page = await admin.fill(f"/leads/{lead.id}/erase", confirm=" ADA@example.com ")
    assert "The person is erased" in page
    await admin.open(f"/leads/{lead.id}", 404)
    assert (await make.kinds())[-1] == "lead.deleted"
    noted = await db.row("SELECT subject, detail FROM audit_entry WHERE action = 'lead.erased'")
    assert tuple(noted) == (lead.id, "")


async def test_an_agent_does_not_erase(agent, workspace, bot):
    lead = await make.lead(workspace, bot)
    await agent.open(f"/leads/{lead.id}")
    await agent.fill(f"/leads/{lead.id}/erase", 403, confirm="ada@example.com")
    assert await kept(workspace, lead)


async def test_a_person_gets_everything_that_is_kept(admin, workspace, bot):
    lead = await make.lead(workspace, bot, custom_fields={"stage": "won"})
    await conversations.add_message(workspace, lead.conversation_id, "user", "My question")
    await admin.open(f"/leads/{lead.id}")
    answer = await admin.post(f"/leads/{lead.id}/export", data={"form_token": admin.token, "format": "json"})
    everything = answer.json()
    assert everything["lead"]["custom_fields"] == {"stage": "won"}
    assert [one["content"] for one in everything["conversations"][0]["messages"]] == ["Hello", "My question"]
    assert "lead.created" in [one["kind"] for one in everything["events"]]
    assert await db.value("SELECT subject FROM audit_entry WHERE action = 'lead.exported'") == lead.id


async def test_another_workspace_s_lead_is_not_there(admin):
    elsewhere = await accounts.create_workspace("Other")
    lead = await make.lead(elsewhere, await bots.create(elsewhere, "Theirs"))
    await admin.open("/leads")
    await admin.fill(f"/leads/{lead.id}", 404, **FORM, seen="{}")
    await admin.fill(f"/leads/{lead.id}/erase", 404, confirm="ada@example.com")
    await admin.fill(f"/leads/{lead.id}/export", 404, format="json")
    assert (await kept(elsewhere, lead)).email == lead.email


async def test_each_event_leads_to_its_deliveries(viewer, workspace, bot):
    lead = await make.lead(workspace, bot)
    event_id = await db.value("SELECT id FROM event WHERE kind = 'lead.created'")
    await make.ended(event_id, "we_one", "dead")
    link = f'<a href="/deliveries/{event_id}/we_one" title="A removed endpoint"><small class="ellipsis">removed</small>'
    assert link in await viewer.open(f"/leads/{lead.id}")
    assert link in await viewer.open(f"/conversations/{lead.conversation_id}")
