"""What two people do in a conversation at the same moment."""

import asyncio

import pytest

from leadwire.domain.bots.visitors import runtime
from leadwire.domain.conversations import changes
from leadwire.domain.conversations.changes import inbox, seen
from leadwire.domain.leads import holders
from leadwire.domain.leads.schema import LeadPatch
from leadwire.infrastructure import db
from leadwire.infrastructure.errors import Conflict
from tests.delivery.interleaved import Held, apart, blocked
from tests.domain.bots.conftest import live, operators, visitor  # noqa: F401 - fixtures

READ = "SELECT seq, mentioned_at IS NOT NULL AS mentioned FROM conversation_read WHERE user_id = $1"


@pytest.mark.parametrize("before", [0, 1])
async def test_one_reads_while_another_mentions_them(workspace, visitor, operators, monkeypatch, before):  # noqa: F811
    await visitor.says("what?")
    await runtime.hand_off(await visitor.visit())
    await seen.by_agent(workspace, visitor.conversation, operators[0], before)
    held = Held(inbox._ADD_MENTION)
    monkeypatch.setattr(inbox, "_ADD_MENTION", held)
    noting = apart(inbox.note(workspace, visitor.conversation, operators[1], "@agent0 please look"))
    await held.reached.wait()
    reading = apart(seen.by_agent(workspace, visitor.conversation, operators[0], 2))
    await blocked()
    held.go.set()
    assert [one.id for one in await noting] == [operators[0]]
    await reading
    assert tuple((await db.rows(READ, operators[0]))[0]) == (2, False)  # they read after it was written


async def test_of_two_who_make_a_visitor_a_lead_the_second_is_told(workspace, visitor):  # noqa: F811
    """Each made one, and the conversation lost the first."""
    await visitor.says("what?")
    found = [LeadPatch(email=f"{name}@example.com") for name in ("ada", "bea")]
    capturing = [changes.capture_lead(workspace, visitor.conversation, one) for one in found]
    refused = [one for one in await asyncio.gather(*capturing, return_exceptions=True) if isinstance(one, Conflict)]
    assert [one.code for one in refused] == ["lead_known"]
    assert await db.value("SELECT count(*) FROM lead") == 1


async def test_who_makes_a_visitor_a_lead_waits_for_the_address_before_the_conversation_is_locked(workspace, visitor):  # noqa: F811
    """A visitor's turn that begins again waits for the conversation while it has the address: a deadlock, and a 503."""
    await visitor.says("what?")
    found = LeadPatch(email="ada@example.com")
    async with db.transaction():
        await holders.wait_for(visitor.bot.id, found)
        capturing = apart(changes.capture_lead(workspace, visitor.conversation, found))
        await blocked()
        await db.rows("SELECT FROM conversation WHERE id = $1 FOR UPDATE NOWAIT", visitor.conversation)
    assert (await capturing).email == found.email
