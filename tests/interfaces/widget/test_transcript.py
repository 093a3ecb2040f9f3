"""A visitor has the conversation mailed to them: to the address that they gave in it, and to nobody else."""

import pytest

from leadwire.domain.leads import changes as leads
from leadwire.domain.leads.schema import LeadPatch
from leadwire.domain.mail import compose
from leadwire.domain.mail.schema import Contents
from leadwire.domain.notices.changes import transcript
from leadwire.domain.privacy import changes as privacy
from leadwire.infrastructure import db
from tests.domain.bots.conftest import live  # noqa: F401 - a fixture
from tests.interfaces.widget.conftest import Caller, caller, shop  # noqa: F401 - fixtures
from tests.mailing import mails

pytestmark = pytest.mark.usefixtures("mailing")


def code(answer):
    return answer.status_code, answer.json().get("code")


async def test_it_comes_to_the_address_that_was_given(caller):  # noqa: F811
    first = await caller.says("what?")
    assert "transcript" not in first.json()
    assert code(await caller.post("transcript")) == (409, "no_address")
    given = await caller.says("ada@example.com")
    assert given.json()["transcript"] is True
    assert (await caller.get("messages")).json()["transcript"] is True
    answer = await caller.post("transcript")
    assert (answer.status_code, answer.json()["messages"]) == (200, [])
    await caller.post("end")
    assert (await caller.post("transcript")).status_code == 200
    (to, values), (again, _) = await mails("transcript")
    assert to == again == "ada@example.com"
    assert {"who": "You", "text": "ada@example.com"} in values["said"]
    assert {"who": "Assistant", "text": "Your e-mail?"} in values["said"]
    made = compose.content("transcript", Contents(values), "https://leads.example")
    assert made.subject == "Your conversation with Test"
    assert "\nYou: ada@example.com\n" in made.text


async def test_it_is_nothing_to_write_to_strangers_with(caller, shop):  # noqa: F811
    await caller.says("Buy at https://evil.example/now or www.evil.example, pills://x")
    await caller.says("stranger@example.com")
    answers = [await caller.post("transcript") for _ in range(4)]
    assert [code(one) for one in answers] == [(200, None)] * 3 + [(409, "too_many")]
    assert "evil.example" not in str(await mails("transcript"))
    for number in range(3):  # other conversations of the same network
        other = Caller(caller.client, shop)
        await other.says(f"one{number}@example.com")
        last = await other.post("transcript")
    assert code(last) == (409, "too_many")
    assert len(await mails("transcript")) == 5


async def test_one_address_gets_few_from_whoever_asks(workspace, caller, shop, monkeypatch):  # noqa: F811
    monkeypatch.setattr(transcript._FROM_NETWORK, "take_at_once", transcript._OF_CONVERSATION.take_at_once)
    codes = []
    for _ in range(3):
        other = Caller(caller.client, shop)
        await other.says("ada@example.com")
        codes += [code(await other.post("transcript")) for _ in range(2)]
    assert codes.count((200, None)) <= 5
    assert codes[-1] == (409, "too_many")


async def test_it_goes_to_no_address_that_was_not_given_in_the_conversation(workspace, caller):  # noqa: F811
    await caller.says("ada@example.com")
    lead_id = await db.value("SELECT lead_id FROM conversation")
    await leads.update(workspace, lead_id, LeadPatch(email="else@example.com"), unchanged={})
    assert code(await caller.post("transcript")) == (409, "no_address")
    assert await transcript.send(workspace, caller.conversation) == "else@example.com"  # a person may


async def test_erasing_the_person_stops_it(workspace, caller):  # noqa: F811
    await caller.says("ada@example.com")
    assert (await caller.post("transcript")).status_code == 200
    await privacy.erase_person(workspace, "ada@example.com")
    assert await mails() == []
    assert code(await caller.post("transcript")) == (409, "no_address")


async def test_without_mail_it_is_not_offered(caller, monkeypatch):  # noqa: F811
    await caller.says("ada@example.com")
    monkeypatch.undo()
    assert "transcript" not in (await caller.get("messages")).json()


async def test_it_takes_the_token_of_the_conversation(caller, anonymous):  # noqa: F811
    await caller.says("ada@example.com")
    bare = await anonymous.post(f"/widget/v1/conversations/{caller.conversation}/transcript")
    assert bare.status_code == 401
    assert await mails() == []


async def test_a_long_conversation_loses_its_beginning(workspace, caller, monkeypatch):  # noqa: F811
    monkeypatch.setattr(transcript, "_LONGEST", 40)
    await caller.says("x" * 50)
    await caller.says("ada@example.com")
    assert (await caller.post("transcript")).status_code == 200
    ((_, values),) = await mails("transcript")
    assert values["cut"] is True
    assert "x" * 10 not in str(values)
