"""Silence: one nudge, then the end; with a person, a day."""

import asyncio
from datetime import timedelta

import pytest

from leadwire.domain.accounts import changes as accounts
from leadwire.domain.bots import jobs as silence
from leadwire.domain.bots.changes import visitor_sessions
from leadwire.domain.bots.visitors import runtime
from leadwire.domain.conversations import changes as conversations
from leadwire.domain.conversations import reads as conversation_reads
from leadwire.infrastructure import clock, db
from leadwire.infrastructure.jobs import queue
from tests import jobs, make
from tests.domain.bots.conftest import Visitor, published
from tests.domain.bots.flows import SMALL

NUDGING = SMALL.replace(
    "format = 1", 'format = 1\nnudge_text = "Still there?"\nnudge_minutes = 5\ninactivity_minutes = 30'
)


async def done():
    nudges = "SELECT count(*) FROM message WHERE content = 'Still there?'"
    return await db.value(nudges), await db.value("SELECT count(*) FROM conversation WHERE status = 'ended'")


@pytest.fixture
async def visitor(workspace):
    visitor = Visitor(await published(workspace, NUDGING))
    await visitor.says("ada@example.com")
    await make.emitted(forget=True)
    return visitor


@pytest.fixture
def after(db_clock):
    """Do what is due when so many minutes more have passed, for the database and for us. Return how many conversations
    were nudged, and how many ended.
    """
    start, passed = clock.now(), timedelta()

    async def sweep(minutes):
        nonlocal passed
        passed += timedelta(minutes=minutes)
        await db_clock.forward(minutes * 60)
        nudged, ended = await done()
        with clock.at(start + passed):
            await jobs.run("silence", early=True)
        now_nudged, now_ended = await done()
        return now_nudged - nudged, now_ended - ended

    return sweep


async def test_a_silent_visitor_is_nudged_once_and_then_the_conversation_ends(workspace, visitor, after):
    swept = [await after(minutes) for minutes in (4, 2, 1, 22, 3, 60)]
    assert swept == [(0, 0), (1, 0), (0, 0), (0, 0), (0, 1), (0, 0)]
    detail = await conversation_reads.detail(workspace, visitor.conversation)
    assert detail.messages[-1].content == "Still there?"
    assert (detail.metadata.ended_by, detail.metadata.end_reason) == ("system", "silence")
    assert await make.kinds() == ["message.sent", "conversation.ended"]


async def test_a_visitor_who_comes_back_has_the_whole_time_again(visitor, after):
    assert await after(6) == (1, 0)
    with clock.at(clock.now() + timedelta(minutes=7)):
        await visitor.says("what?")
    assert [await after(minutes) for minutes in (29, 3)] == [(0, 0), (0, 1)]


async def test_a_conversation_with_a_person_waits_a_day(visitor, after):
    await runtime.hand_off(await visitor.visit())
    assert [await after(hours * 60) for hours in (23, 2)] == [(0, 0), (0, 1)]


async def test_without_a_nudge_it_just_ends(live, after):
    await Visitor(live).says("ada@example.com")
    assert [await after(minutes) for minutes in (29, 2)] == [(0, 0), (0, 1)]


async def test_a_blank_nudge_is_none(workspace, after):
    """It was refused once a minute, with a warning, until the end."""
    visitor = Visitor(await published(workspace, NUDGING.replace("Still there?", " ")))
    await visitor.says("ada@example.com")
    assert await after(6) == (0, 0)
    assert await db.value("SELECT count(*) FROM job WHERE kind = 'silence'") == 0
    assert await after(25) == (0, 1)


async def test_several_processes_share_the_work(workspace, live, db_clock):
    for _ in range(6):
        await Visitor(live).says("ada@example.com")
    await db_clock.forward(3600)
    await asyncio.gather(*(jobs.run("silence", early=True) for _ in range(4)))
    assert await done() == (0, 6)
    assert (await make.kinds()).count("conversation.ended") == 6


async def test_a_conversation_that_cannot_be_nudged_keeps_no_other_waiting(workspace, visitor, after):
    await db.rows("UPDATE conversation SET messages_count = 1000")  # full: nobody can say anything in it any more
    other = Visitor(visitor.bot)
    await other.says("grace@example.com")
    assert await after(6) == (1, 0)
    assert await after(26) == (0, 2)


async def test_whatever_one_raises_another_workspace_s_is_done(workspace, visitor, after, monkeypatch):
    other = Visitor(await published(await accounts.create_workspace("Other"), NUDGING))
    await other.says("grace@example.com")
    end = conversations.end

    async def raises(whose, *more):
        if whose == workspace:
            raise KeyError("no")
        await end(whose, *more)

    monkeypatch.setattr(conversations, "end", raises)
    assert await after(31) == (0, 1)
    assert (await conversation_reads.detail(workspace, visitor.conversation)).status == "active"
    monkeypatch.setattr(conversations, "end", end)
    assert await after(0) == (0, 1)


async def test_those_that_fail_or_rest_do_not_hide_the_others(live, db_clock):
    """However many there are: what is known is not looked at again."""
    for _ in range(3):
        await Visitor(live).says("ada@example.com")
    await db_clock.forward(3600)
    offers = await silence.silent()
    await queue.add_all("silence", offers[:2])
    assert await silence.silent() == offers[2:]


async def test_a_blocked_visitor_is_not_nudged_and_the_conversation_ends(workspace, visitor, after):
    other = Visitor(visitor.bot)
    await other.says("ada@example.com")
    await visitor_sessions.block(workspace, other.conversation, await make.user(workspace))
    assert [await after(minutes) for minutes in (6, 30)] == [(0, 0), (0, 1)]
