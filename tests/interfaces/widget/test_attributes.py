"""What a page tells of its visitor: into the lead, in place of nothing that anybody else has said."""

import msgspec
import pytest

from leadwire.domain.leads import changes as leads
from leadwire.domain.leads.schema import LeadPatch
from leadwire.infrastructure import db
from tests import make
from tests.interfaces.widget.conftest import Caller


async def custom_fields():
    return msgspec.json.decode(await db.value("SELECT custom_fields::text FROM lead"))


async def variables(conversation):
    return msgspec.json.decode(await db.value("SELECT variables::text FROM conversation WHERE id = $1", conversation))


async def test_attributes_become_fields_of_the_lead(workspace, caller):
    told = (await caller.says("ada@example.com", attributes={"plan": "pro"})).json()
    assert told["captured"] is True
    assert await custom_fields() == {"plan": "pro"}
    assert "lead.updated" not in await make.kinds()  # the lead was created with it
    await caller.says("Large", attributes={"plan": "team", "size": "huge"})
    assert await custom_fields() == {"plan": "team", "size": "l"}  # the page's own changes; the answer stays
    lead = await db.value("SELECT id FROM lead")
    await leads.update(workspace, lead, LeadPatch(custom_fields={"plan": "gold"}), unchanged={})
    assert (await caller.says("Hello?", attributes={"plan": "free", "seats": "3"})).json()["status"] == "handoff"
    assert await custom_fields() == {"plan": "gold", "size": "l", "seats": "3"}  # what a colleague wrote stays
    known = await variables(caller.conversation)
    assert (known["page.plan"], known["page.seats"], known["size"]) == ("free", "3", "l")
    before = await make.kinds()
    await caller.says("Anybody?", attributes={"plan": "free", "seats": "3"})
    assert [one for one in (await make.kinds())[len(before) :] if one.startswith("lead.")] == []


async def test_attributes_wait_for_a_lead(caller):
    said = (await caller.says("what?", attributes={"plan": "pro"})).json()
    assert "captured" not in said
    assert await db.value("SELECT count(*) FROM lead") == 0
    await caller.says("ada@example.com")
    assert await custom_fields() == {"plan": "pro"}


async def test_a_stranger_on_another_page_changes_nothing_of_a_known_lead(anonymous, shop, caller):
    await caller.says("ada@example.com", attributes={"plan": "pro"})
    other = Caller(anonymous, shop)
    await other.says("ada@example.com", attributes={"plan": "free", "via": "partner"})
    await other.says("Large", attributes={"plan": "none"})
    assert await custom_fields() == {"plan": "pro", "via": "partner", "size": "l"}


async def test_the_flows_own_variables_are_not_the_pages(caller):
    await caller.says("what?", attributes={"email": "eve@example.com", "score": "100", "email_is_business": "true"})
    await caller.says("ada@gmail.com")
    assert await db.value("SELECT email FROM lead") == "ada@gmail.com"
    assert await db.value("SELECT score FROM lead") == 0
    assert (await variables(caller.conversation))["email"] == "ada@gmail.com"


async def test_a_conversation_takes_twenty_attributes_and_every_message(caller):
    await caller.says("what?", attributes={f"first_{n}": "x" for n in range(15)})
    answer = await caller.says("ada@example.com", attributes={f"then_{n}": "x" for n in range(15)} | {"first_0": "y"})
    assert answer.status_code == 200
    known = {key: value for key, value in (await variables(caller.conversation)).items() if key.startswith("page.")}
    assert (len(known), known["page.first_0"], known["page.then_4"]) == (20, "y", "x")
    assert len(await custom_fields()) == 20


BAD = [
    {f"a{n}": "x" for n in range(21)},
    {"Plan": "pro"},
    {"a.b": "x"},
    {"": "x"},
    {"x" * 65: "x"},
    {"plan\n": "x"},
    {"__proto__": "x"},
    {"plan": ""},
    {"plan": "x" * 501},
    {"plan": "a\u202eb"},
    {"plan": "a\nb"},
    {"plan": 1},
    {"plan": None},
    {"plan": {"a": "b"}},
    ["plan"],
    None,
]


@pytest.mark.parametrize("bad", BAD, ids=range(len(BAD)))
async def test_wrong_attributes_are_told_and_store_nothing(caller, bad):
    answer = await caller.says("hi", attributes=bad)
    assert answer.status_code == 422
    assert answer.json()["errors"][0]["pointer"].startswith("/attributes")
    assert await make.kinds() == []
