"""A handoff when no agent has the inbox open."""

import time
from datetime import UTC, datetime, timedelta

import pytest

from leadwire.domain.accounts import reads
from leadwire.domain.bots.visitors import decide, runtime
from leadwire.domain.conversations import plan
from leadwire.domain.conversations import reads as conversation_reads
from leadwire.domain.conversations.changes import inbox
from leadwire.domain.privacy import erasure
from leadwire.infrastructure import clock, db
from leadwire.infrastructure.errors import Conflict
from tests import make
from tests.domain.bots.conftest import Visitor, published
from tests.domain.bots.flows import SMALL

ASKS = "Nobody is at the desk just now. Leave your e-mail address here, and we will write to you."
KNOWS = "Nobody is at the desk just now. We will write to you."
THANKS = "Thank you. We will write to you there."


async def waits(visitor):
    await visitor.says("hm")
    turn = await runtime.hand_off(await visitor.visit())
    return [said.content for said in turn.messages]


async def lead_of(workspace, visitor):
    return (await conversation_reads.detail(workspace, visitor.conversation)).lead


async def test_the_bot_says_so_and_asks_for_an_address_which_makes_a_lead(workspace, visitor):
    assert (await waits(visitor))[1:] == [ASKS]
    assert await visitor.says("hello?") == []
    assert await visitor.says("Oh. It is <Ada@Example.com>, thanks!") == [THANKS]
    lead = await lead_of(workspace, visitor)
    assert lead.email == "Ada@example.com"
    assert await visitor.says("or bob@example.com") == []
    assert (await lead_of(workspace, visitor)).email == "Ada@example.com"
    kinds = await make.kinds()
    assert (kinds.count("lead.created"), kinds.count("lead.updated")) == (1, 0)
    assert kinds.index("conversation.handoff") < kinds.index("lead.created")


async def test_a_blank_text_is_not_said(workspace):
    """Its author wants none; a visitor who asked for a person, or left an address, was refused."""
    blank = "".join(f'{name} = " "\n' for name in ("away_text", "away_known_text", "away_thanks_text", "failure_text"))
    visitor = Visitor(await published(workspace, blank + SMALL))
    assert (await waits(visitor))[1:] == []
    assert await visitor.says("ada@example.com") == []
    assert (await lead_of(workspace, visitor)).email == "ada@example.com"


async def test_who_is_known_is_not_asked(visitor):
    assert await visitor.says("ada@example.com") == ["Your e-mail?", "How big?"]
    assert await visitor.says("Large") == ["One moment.", KNOWS]


async def test_a_repeated_word_gets_the_same_thanks_and_makes_no_other_lead(workspace, visitor):
    await waits(visitor)
    assert await visitor.says("ada@example.com", "a-message-sent-twice") == [THANKS]
    assert await visitor.says("ada@example.com", "a-message-sent-twice") == [THANKS]
    assert (await make.kinds()).count("lead.created") == 1


async def test_outside_the_opening_hours_it_says_when_somebody_is_back(workspace):
    hours = 'hours = [{ days = ["mon"], opens = "09:00", closes = "17:00" }]\n'
    visitor = Visitor(await published(workspace, hours + SMALL))
    with clock.at(datetime(2026, 11, 22, 12, tzinfo=UTC)):
        assert (await waits(visitor))[1:] == [f"{ASKS} We are back on Monday, 09:00 UTC."]
    visitor = Visitor(
        await published(workspace, 'locale = "fr"\nback_text = "De retour {{next_open}}."\n' + hours + SMALL)
    )
    with clock.at(datetime(2026, 11, 23, 17, tzinfo=UTC)):
        assert (await waits(visitor))[1:] == [f"{ASKS} De retour lundi, 2026-11-30, 09:00 UTC."]
    visitor = Visitor(visitor.bot)
    with clock.at(datetime(2026, 11, 23, 16, 59, tzinfo=UTC)):
        assert (await waits(visitor))[1:] == [ASKS]


@pytest.mark.usefixtures("desk")
async def test_nothing_is_said_while_somebody_has_the_inbox_open(visitor):
    assert ASKS not in await waits(visitor)


async def test_who_has_closed_the_inbox_is_gone_after_a_while(workspace, desk, monkeypatch):
    assert await reads.agent_online(workspace)
    now = clock.now()
    monkeypatch.setattr(clock, "now", lambda: now + timedelta(seconds=150))
    assert not await reads.agent_online(workspace)


async def test_a_viewer_and_another_workspaces_people_do_not_count(workspace, desk):
    await db.rows("UPDATE user_account SET role = 'viewer'")
    assert not await reads.agent_online(workspace)
    await db.rows("UPDATE user_account SET role = 'agent'")
    assert not await reads.agent_online("ws_another")


async def test_what_is_said_to_a_person_is_not_taken_for_an_answer(workspace, visitor, operators):
    await waits(visitor)
    await inbox.claim(workspace, visitor.conversation, operators[0])
    assert await visitor.says("My colleague bob@example.com knows") == []
    assert await lead_of(workspace, visitor) is None


async def test_an_erasure_takes_the_words_along(workspace, visitor):
    await waits(visitor)
    await visitor.says("write to ada@example.com")
    await erasure.erase_lead(workspace, (await lead_of(workspace, visitor)).id)
    assert not await db.value("SELECT count(*) FROM message WHERE content LIKE '%ada@%'")


@pytest.mark.parametrize(
    ("text", "found"),
    [
        ("ada@example.com", "ada@example.com"),
        ("mailto:ada@example.com.", "ada@example.com"),
        ("(ada@example.com)", "ada@example.com"),
        ("a@b, ada@EXAMPLE.com", "ada@example.com"),
        ("me @ home", None),
        ("@ada", None),
        ("a@b", None),
        ("x" * 3000 + "@" + "y" * 900, None),
        ("@." * 1500, None),
    ],
)
def test_an_address_is_found_among_words(text, found):
    assert decide._address(text) == found


async def test_who_waits_in_a_full_conversation_is_told_that_it_is_full(visitor):
    await waits(visitor)
    await db.rows("UPDATE conversation SET messages_count = 1000")
    with pytest.raises(Conflict) as refused:
        await visitor.says("hello?")
    assert refused.value.code == "conversation_full"


@pytest.mark.parametrize("text", ["@" * 4000, "a@" * 2000, "a" * 4000, "a@b " * 1000, "@." * 2000])
def test_no_text_takes_long_to_look_through(text):
    start = time.thread_time()  # what it computes, not what others do meanwhile
    assert decide._address(text) is None
    assert time.thread_time() - start < 1


async def test_in_a_full_conversation_a_person_can_still_be_asked_for(workspace, visitor, monkeypatch):
    await visitor.says("hm")
    said = await db.value("SELECT messages_count FROM conversation")
    monkeypatch.setattr(plan, "MAX_MESSAGES", said + 1)
    assert len((await runtime.hand_off(await visitor.visit())).messages) == 1
    detail = await conversation_reads.detail(workspace, visitor.conversation)
    assert (detail.status, len(detail.messages)) == ("handoff", said + 1)
    assert await db.value("SELECT messages_count FROM conversation") == said + 1
