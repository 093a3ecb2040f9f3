"""A visitor has the conversation mailed to them: to the address that they gave in it, and to nobody else."""

import pytest

from leadwire.domain.bots import changes
from leadwire.domain.leads import changes as leads
from leadwire.domain.leads.schema import LeadPatch
from leadwire.domain.mail import compose
from leadwire.domain.mail.schema import Contents
from leadwire.domain.notices.changes import transcript
from leadwire.domain.notices.strangers_links import Links
from leadwire.domain.privacy import changes as privacy
from leadwire.infrastructure import db
from tests.domain.bots.conftest import live, published  # noqa: F401 - a fixture
from tests.interfaces.widget.conftest import Caller, caller, shop  # noqa: F401 - fixtures
from tests.mailing import mails

REPEATS = """
format = 1
start = "name"

[[nodes]]
type = "ask"
id = "name"
text = "Your name?"
input = "text"
save_to = "name"
next = "email"

[[nodes]]
type = "ask"
id = "email"
text = "Hello {{name}}, we are at https://shop.example/returns and help.shop.example. Your e-mail?"
input = "email"
save_to = "email"
next = "bye"

[[nodes]]
type = "end"
id = "bye"
text = "Thanks, {{name}}. We write to {{email}}."
"""
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


LINKS = [
    "https://evil.example/login", "HTTPS://EVIL.example", "evil-bank.example/login", "(evil-bank.example)",
    "evil.example.", "http://2130706433/x", "192.0.2.7/login", "www.evil", "evil\uff0eexample/x",
    "evil\u3002example", "ev\u200bil.exam\u00adple", "eve@evil.example", "x@evil.example/ada@example.com",
    "mailto:eve@evil.example", "b\u00fccher.example",
]  # fmt: skip


@pytest.mark.parametrize("link", LINKS)
async def test_what_a_visitor_gave_is_no_link_wherever_it_is_repeated(workspace, anonymous, live, link):  # noqa: F811
    bot = await published(workspace, REPEATS, "Repeats")
    await changes.set_origins(workspace, bot.id, ["*"])
    caller = Caller(anonymous, bot)  # noqa: F811
    await caller.says(f"{link} Invoice overdue")
    await caller.says("ada@example.com")
    assert (await caller.post("transcript")).status_code == 200
    ((_, values),) = await mails("transcript")
    assert [one["text"] for one in values["said"]] == [
        "Your name?",
        "[link] Invoice overdue",
        "Hello [link] Invoice overdue, we are at https://shop.example/returns and help.shop.example. Your e-mail?",
        "ada@example.com",
        "Thanks, [link] Invoice overdue. We write to ada@example.com.",
    ]


def test_a_visitor_who_names_very_many_hosts_takes_all_links_out():
    few, many = (Links("a@b.example", [f"x{n}.example" for n in range(count)]) for count in (100, 101))
    assert few.out_of("See shop.example now", own=False) == "See shop.example now"
    assert many.out_of("See shop.example now", own=False) == "See [link] now"


@pytest.mark.parametrize("text", ["It costs 12.50 EUR. Really? Yes, e.g. 3.5 a day...", "Ada: 10:30, a/b, U.S.A."])
def test_what_is_no_link_stays(text):
    assert Links("a@b.example", [text]).out_of(text, own=True) == text


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
