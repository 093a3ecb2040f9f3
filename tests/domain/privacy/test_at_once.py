"""An erasure, and something else about the same person at that moment."""

import asyncio

import pytest

from leadwire.domain.bots import changes as bots
from leadwire.domain.conversations import changes as conversations
from leadwire.domain.conversations.changes import erasing
from leadwire.domain.notices.changes import transcript
from leadwire.domain.privacy import erasure
from leadwire.domain.search import changes as search
from leadwire.infrastructure import db
from leadwire.infrastructure.errors import Conflict, NotFound
from tests import make
from tests.delivery.interleaved import apart, overlapped
from tests.waiting import eventually

WAITING = "SELECT count(*) FROM pg_stat_activity WHERE wait_event_type = 'Lock' AND datname = current_database()"


async def test_a_person_is_erased_while_one_of_their_leads_is(workspace, bot):
    made = [await make.lead(workspace, one) for one in (bot, await bots.create(workspace, "Another"))]

    async def waiting(count):
        await eventually(lambda: apart(_count(count)))

    async with db.transaction():
        await search._WAIT.rows(workspace=workspace)  # a writer of documents is at work
        person = apart(erasure.erase_person(workspace, "ada@example.com"))
        await waiting(1)
        lead = apart(erasure.erase_lead(workspace, made[1].id))
        await waiting(2)
    assert await person == [one.id for one in made]
    (second,) = await asyncio.gather(lead, return_exceptions=True)
    assert isinstance(second, NotFound)
    assert await db.value("SELECT count(*) FROM lead") == 0


async def test_one_of_their_leads_is_gone_when_a_person_is_erased(workspace, bot):
    made = [await make.lead(workspace, one) for one in (bot, await bots.create(workspace, "Another"))]

    async def person():
        assert await erasure.erase_person(workspace, "ada@example.com") == [made[0].id]

    await overlapped(lambda: erasure.erase_lead(workspace, made[1].id), person)
    assert await db.value("SELECT count(*) FROM lead") == 0


async def test_who_is_erased_meanwhile_is_sent_no_transcript(workspace, bot, mailing):
    lead = await make.lead(workspace, bot)

    async def send():
        with pytest.raises(Conflict, match="No e-mail address was given"):
            await transcript.send(workspace, lead.conversation_id)

    await overlapped(lambda: erasure.erase_lead(workspace, lead.id), send)
    assert await db.value("SELECT count(*) FROM mail") == 0


async def test_what_is_written_while_an_erasure_waits_for_a_conversation_is_erased(workspace, bot):
    lead = await make.lead(workspace, bot)

    async def erase():  # of a conversation that became the lead's once the others were locked
        async with db.transaction():
            await erasing.erase(workspace, lead)

    await overlapped(lambda: conversations.add_message(workspace, lead.conversation_id, "agent", "Dear Ada"), erase)
    assert await db.value("SELECT content FROM message WHERE role = 'agent'") == "[deleted]"


async def _count(expected):
    return await db.value(WAITING) == expected
