"""Conversations on the screen: the list, and one of them word for word."""

import re

import pytest

from leadwire.domain.accounts import changes as accounts
from leadwire.domain.bots import changes as bots
from leadwire.domain.conversations import changes
from leadwire.domain.conversations.schema import NewMessage, Origin, Told
from leadwire.domain.leads import changes as leads
from leadwire.domain.leads.schema import LeadPatch, Source
from leadwire.domain.privacy import erasure
from leadwire.infrastructure import clock
from tests import make
from tests.interfaces.web.hostile import SCRIPTS, harmless


def listed(page: str) -> list[str]:
    return re.findall(r'<a class="cover" href="/conversations/(\w+)">', page)


async def test_nothing_yet(viewer):
    assert "No conversation yet" in await viewer.open("/conversations")


async def test_newest_first_with_what_the_visitor_said(viewer, workspace, bot):
    first = await make.conversation(workspace, bot)
    second = await make.conversation(workspace, bot)
    page = await viewer.open("/conversations")
    assert listed(page) == [second, first]
    assert page.count('<small dir="auto">Hello</small>') == 2
    assert "2 conversations" in page


async def test_filters(viewer, workspace, bot):
    other = await bots.create(workspace, "Other")
    with clock.at(clock.ago(days=3)):
        waiting = await make.conversation(workspace, bot)
    await changes.hand_off(workspace, waiting, "asked")
    lead = await make.lead(workspace, other)
    day = f"{clock.ago(days=3):%Y-%m-%d}"
    assert listed(await viewer.open("/conversations?status=handoff&q=")) == [waiting]
    assert listed(await viewer.open(f"/conversations?bot_id={other}")) == [lead.conversation_id]
    assert listed(await viewer.open(f"/conversations?since={day}&until={day}")) == [waiting]
    assert listed(await viewer.open("/conversations?q=ADA")) == [lead.conversation_id]
    assert "No conversation matches" in await viewer.open("/conversations?q=nobody")


async def test_a_corrected_name_is_shown_and_found(viewer, workspace, bot):
    lead = await make.lead(workspace, bot, name="Grace Hoper")
    await leads.update(workspace, lead.id, LeadPatch(name="Grace Hopper"), unchanged={})
    page = await viewer.open("/conversations?q=hopper")
    assert listed(page) == [lead.conversation_id]
    assert ">Grace Hopper</a>" in page
    assert "<h1>Grace Hopper " in await viewer.open(f"/conversations/{lead.conversation_id}")


@pytest.mark.parametrize(
    ("text", "address", "after"),
    [
        ("See https://example.com/a?b=1&c=2, please", "https://example.com/a?b=1&amp;c=2", ", please"),
        ("(http://example.com)", "http://example.com", ")"),
        (
            "https://en.wikipedia.org/wiki/Lead_(disambiguation)!",
            "https://en.wikipedia.org/wiki/Lead_(disambiguation)",
            "!",
        ),
        ("HTTPS://EXAMPLE.COM", "HTTPS://EXAMPLE.COM", ""),
        ("https://a.example/'onclick='alert(1)", "https://a.example/&#39;onclick=&#39;alert(1)", ""),
    ],
)
async def test_an_address_in_a_message_is_a_link(viewer, workspace, bot, text, address, after):
    talk = await make.conversation(workspace, bot)
    await changes.add_message(workspace, talk, "user", text)
    page = await viewer.open(f"/conversations/{talk}")
    link = f'<a href="{address}" target="_blank" rel="noopener noreferrer nofollow">{address}</a>{after}</p>'
    assert link in page


@pytest.mark.parametrize(
    "text", ["javascript:alert(1)", "ftp://example.com", "https://", "www.example.com", "data:text/html,x"]
)
async def test_anything_else_is_text(viewer, workspace, bot, text):
    talk = await make.conversation(workspace, bot)
    await changes.add_message(workspace, talk, "user", text)
    assert f'<p dir="auto">{text}</p>' in await viewer.open(f"/conversations/{talk}")


async def test_pages(viewer, workspace, bot):
    made = [await make.conversation(workspace, bot) for _ in range(51)]
    page = await viewer.open("/conversations")
    assert listed(page) == made[:0:-1]
    onward = re.search(r'href="([^"]*after=[^"]*)"', page)[1].replace("&amp;", "&")
    assert listed(await viewer.open(onward)) == made[:1]


@pytest.mark.parametrize("query", ["after=x", "after=1.evt_1", "status=open", "since=1.1.2026"])
async def test_odd_questions_are_refused(viewer, query):
    await viewer.open(f"/conversations?{query}", 400)


async def test_one_word_for_word(viewer, workspace, bot):
    lead = await make.lead(workspace, bot)
    await changes.add_message(workspace, lead.conversation_id, "bot", "Thank you, Ada.")
    await changes.hand_off(workspace, lead.conversation_id, "wants a quote")
    page = await viewer.open(f"/conversations/{lead.conversation_id}")
    said = re.findall(r'<li class="(\w+)"><p dir="auto">([^<]*)</p>', page)
    assert said == [("user", "Hello"), ("bot", "Thank you, Ada.")]
    assert f'href="/leads/{lead.id}"' in page
    assert "wants a quote" in page
    assert "conversation.handoff" in page
    assert "Answer in the inbox" not in page  # a viewer only looks


async def test_an_erased_person_s_conversation_stays_nameless(viewer, workspace, bot):
    lead = await make.lead(workspace, bot, email="zaphodine@example.com", name="Ouillon Quixotova")
    await erasure.erase_lead(workspace, lead.id)
    page = (await viewer.open(f"/conversations/{lead.conversation_id}")).lower()
    # Words that no random token can hold by chance.
    assert [word for word in ("zaphodine", "example.com", "ouillon", "quixotova") if word in page] == []
    assert "has been erased" in page


@pytest.mark.parametrize("typed", SCRIPTS)
async def test_what_visitors_typed_is_text(agent, workspace, bot, typed):
    origin = Origin(source=Source(typed, typed, typed), locale=typed, timezone=typed, browser=typed, os=typed)
    talk = await changes.start(workspace, bot, origin)
    await changes.add_message(workspace, talk, "user", typed)
    await changes.capture_lead(workspace, talk, LeadPatch(name=typed, email="ada@example.com", company=typed))
    told = Told(variables={typed: typed}, name=typed)
    await changes.add_messages(workspace, talk, [NewMessage(role="user", content="Hello")], told)
    await changes.hand_off(workspace, talk, typed)
    await changes.end(workspace, talk, "visitor", typed)
    harmless(await agent.open("/conversations"))
    harmless(await agent.open(f"/conversations/{talk}"))


async def test_another_workspace_s_conversation_is_not_there(viewer):
    elsewhere = await accounts.create_workspace("Other")
    talk = await make.conversation(elsewhere, await bots.create(elsewhere, "Theirs"))
    assert listed(await viewer.open("/conversations")) == []
    await viewer.open(f"/conversations/{talk}", 404)
