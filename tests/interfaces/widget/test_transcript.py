"""A visitor has a link to the conversation mailed to them: to the address that they gave in it, and to nobody else."""

from datetime import timedelta

import pytest

from leadwire.domain.accounts.changes import workspaces
from leadwire.domain.bots import changes
from leadwire.domain.leads import changes as leads
from leadwire.domain.leads.schema import LeadPatch
from leadwire.domain.mail import compose
from leadwire.domain.mail.schema import Contents
from leadwire.domain.notices.changes import transcript
from leadwire.domain.privacy import erasure
from leadwire.infrastructure import clock, db
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
text = "Thanks, {{name}}.example. We write to {{email}}."
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
    ended = (await caller.post("end")).json()
    assert (ended["status"], ended["transcript"], ended["captured"]) == ("ended", True, True)
    assert (await caller.post("transcript")).status_code == 200
    (to, values), (again, _) = await mails("transcript")
    assert to == again == "ada@example.com"
    made = compose.content("transcript", Contents(values), "https://leads.example")
    assert made.subject == "Your conversation with Test"
    assert f"\nhttps://leads.example{values['path']}\n" in made.text
    page = await caller.client.get(values["path"])
    assert "<b>Assistant:</b> Your e-mail?" in page.text
    assert "<b>You:</b> ada@example.com" in page.text


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


EVIL = "evil-stranger"  # long enough that no id has it by chance
LINKS = [
    f"https://{EVIL}.example/login", f"{EVIL}-bank.example/login", EVIL, f"www.{EVIL}.example", f"eve@{EVIL}.example",
]  # fmt: skip


@pytest.mark.parametrize("link", LINKS)
async def test_nothing_that_was_said_is_in_the_mail(workspace, anonymous, live, link):  # noqa: F811
    """Not even what a flow makes an address of: {{name}}.example."""
    bot = await published(workspace, REPEATS, "Repeats")
    await changes.set_origins(workspace, bot.id, ["*"])
    caller = Caller(anonymous, bot)  # noqa: F811
    await caller.says(link)
    await caller.says("ada@example.com")
    assert (await caller.post("transcript")).status_code == 200
    ((_, values),) = await mails("transcript")
    made = compose.content("transcript", Contents(values), "https://leads.example")
    assert EVIL not in (made.subject + made.text + made.html).replace(values["path"], "")
    page = (await anonymous.get(values["path"])).text
    assert page.count(link) == 3
    assert "<a " not in page


async def read(caller, path):  # noqa: F811
    return (await caller.client.get(path)).status_code


async def test_the_link_shows_what_was_said_until_then_while_it_may(workspace, caller, monkeypatch):  # noqa: F811
    await caller.says("ada@example.com")
    await caller.post("transcript")
    ((_, values),) = await mails("transcript")
    await caller.says("What I said later")
    page = await caller.client.get(values["path"])
    assert "What I said later" not in page.text
    assert page.headers["cache-control"] == "no-store"
    assert await read(caller, values["path"][:-1]) == 404
    assert await read(caller, "/transcript/x") == 404
    await workspaces.set_suspended(workspace, suspended=True)
    assert await read(caller, values["path"]) == 403
    await workspaces.set_suspended(workspace, suspended=False)
    assert await read(caller, values["path"]) == 200
    later = clock.now() + timedelta(days=31)
    monkeypatch.setattr(clock, "now", lambda: later)
    assert await read(caller, values["path"]) == 404


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
    ((_, values),) = await mails("transcript")
    await erasure.erase_person(workspace, "ada@example.com")
    assert await mails() == []
    assert await read(caller, values["path"]) == 404
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
