"""What operators put off: an end that can be undone for ten seconds, a conversation that comes back."""

import asyncio
from contextvars import Context
from datetime import timedelta

import pytest

from leadwire.domain.accounts import changes as accounts
from leadwire.domain.bots import changes as bots
from leadwire.domain.bots import jobs as silence
from leadwire.domain.bots.visitors import runtime
from leadwire.domain.conversations import changes, inbox_reads, reads
from leadwire.domain.conversations.changes import end_and_snooze, inbox, seen
from leadwire.domain.conversations.inbox_reads import Wanted
from leadwire.infrastructure import clock, db
from leadwire.infrastructure.errors import Conflict, Invalid
from tests import jobs, make
from tests.domain.bots.conftest import live, operators, visitor  # noqa: F401 - fixtures

DAY = timedelta(days=1)
PUT_OFF = "SELECT count(*) FROM conversation WHERE end_due_at IS NOT NULL OR snoozed_until IS NOT NULL"


@pytest.fixture
async def talk(workspace, visitor, operators):  # noqa: F811
    """A conversation that the first operator has."""
    await visitor.says("what?")
    await runtime.hand_off(await visitor.visit())
    await inbox.claim(workspace, visitor.conversation, operators[0])
    await make.emitted(forget=True)
    return visitor


async def status(workspace, talk):
    return (await reads.detail(workspace, talk.conversation)).status


async def later(span):
    """Do what is due as if so much time had passed. Return how many ended or came back."""
    before = await db.value(PUT_OFF)
    with clock.at(clock.now() + span):
        await jobs.run(end_and_snooze.JOB, early=True)
    return before - await db.value(PUT_OFF)


async def place_of(workspace, talk, user, **more):
    found = await inbox_reads.threads(workspace, user, Wanted(**more))
    return [place for place, some in found.places.items() for one in some if one["id"] == talk.conversation]


async def test_an_end_is_done_after_ten_seconds_and_once(workspace, talk, operators):  # noqa: F811
    await end_and_snooze.end(workspace, talk.conversation, operators[0])
    assert await later(end_and_snooze.UNDO - timedelta(seconds=1)) == 0
    assert (await status(workspace, talk), await make.kinds()) == ("handoff", [])
    counts = await asyncio.gather(*(later(end_and_snooze.UNDO) for _ in range(5)))
    assert set(counts) <= {0, 1}
    assert (await status(workspace, talk), await make.kinds()) == ("ended", ["conversation.ended"])
    assert await later(DAY) == 0
    with pytest.raises(Conflict):
        await end_and_snooze.undo_end(workspace, talk.conversation, operators[0])


async def test_an_end_is_undone(workspace, talk, operators):  # noqa: F811
    await end_and_snooze.end(workspace, talk.conversation, operators[0])
    with pytest.raises(Conflict):
        await end_and_snooze.undo_end(workspace, talk.conversation, operators[1])
    await end_and_snooze.undo_end(workspace, talk.conversation, operators[0])
    assert await later(DAY) == 0
    assert (await status(workspace, talk), await make.kinds()) == ("handoff", [])


async def test_a_visitor_who_still_writes_calls_the_end_off(workspace, talk, operators):  # noqa: F811
    await end_and_snooze.end(workspace, talk.conversation, operators[0])
    await talk.says("One thing more")
    assert await later(DAY) == 0
    assert await status(workspace, talk) == "handoff"


async def test_the_api_ends_it_at_once_meanwhile(workspace, talk, operators):  # noqa: F811
    await end_and_snooze.end(workspace, talk.conversation, operators[0])
    await changes.end(workspace, talk.conversation, "api")
    assert await later(DAY) == 0
    assert await make.kinds() == ["conversation.ended"]


async def test_one_that_fails_does_not_hold_up_the_others(workspace, talk, operators, monkeypatch):  # noqa: F811
    await end_and_snooze.end(workspace, talk.conversation, operators[0])
    end = changes.end

    async def refused(*_):
        raise Conflict("Not now.")

    monkeypatch.setattr(changes, "end", refused)
    assert await later(end_and_snooze.UNDO) == 0
    monkeypatch.setattr(changes, "end", end)
    assert await later(end_and_snooze.UNDO) == 1
    assert await status(workspace, talk) == "ended"


async def test_whatever_one_raises_another_workspace_s_is_done(workspace, talk, operators, monkeypatch):  # noqa: F811
    elsewhere = await accounts.create_workspace("Other")
    other = await make.conversation(elsewhere, await bots.create(elsewhere, "Bot"))
    await end_and_snooze.end(workspace, talk.conversation, operators[0])
    await end_and_snooze.end(elsewhere, other, "nobody")
    end = changes.end

    async def raises(whose, *more):
        if whose == workspace:
            raise KeyError("no")
        await end(whose, *more)

    monkeypatch.setattr(changes, "end", raises)
    assert await later(end_and_snooze.UNDO) == 1
    assert (await reads.detail(elsewhere, other)).status == "ended"
    monkeypatch.setattr(changes, "end", end)
    assert await later(end_and_snooze.UNDO) == 1
    assert await status(workspace, talk) == "ended"


async def test_it_is_done_when_it_is_due_by_nobody_s_look(workspace, talk, operators, db_clock):  # noqa: F811
    await end_and_snooze.end(workspace, talk.conversation, operators[0])
    await end_and_snooze.undo_end(workspace, talk.conversation, operators[0])
    await end_and_snooze.snooze(workspace, talk.conversation, operators[0], clock.now() + DAY)
    await end_and_snooze.end(workspace, talk.conversation, operators[0])
    running = jobs.runner(end_and_snooze.JOB)
    await running.run_all()
    assert await status(workspace, talk) == "handoff"
    await db_clock.forward(11)
    with clock.at(clock.now() + timedelta(seconds=11)):
        await running.run_all()
    assert await status(workspace, talk) == "ended"
    assert await db.value("SELECT count(*) FROM job WHERE kind = $1", end_and_snooze.JOB) == 0


async def test_what_a_process_of_the_version_before_puts_off_is_found(workspace, talk, operators):  # noqa: F811
    await end_and_snooze.end(workspace, talk.conversation, operators[0])
    await db.rows("DELETE FROM job")
    assert await later(end_and_snooze.UNDO) == 1
    assert await status(workspace, talk) == "ended"


async def test_a_conversation_that_somebody_holds_is_done_afterwards(workspace, talk, operators):  # noqa: F811
    await end_and_snooze.end(workspace, talk.conversation, operators[0])
    async with db.transaction():
        await db.rows("SELECT 1 FROM conversation FOR UPDATE")
        assert await asyncio.create_task(later(end_and_snooze.UNDO), context=Context()) == 0
    assert await later(end_and_snooze.UNDO) == 1
    assert await db.value("SELECT count(*) FROM job WHERE failed_at IS NOT NULL") == 0


async def test_a_snoozed_conversation_comes_back_as_new(workspace, talk, operators):  # noqa: F811
    last = await db.value("SELECT messages_count FROM conversation")
    await seen.by_agent(workspace, talk.conversation, operators[0], last)
    await end_and_snooze.snooze(workspace, talk.conversation, operators[0], clock.now() + DAY)
    assert await place_of(workspace, talk, operators[0]) == ["snoozed"]
    assert await place_of(workspace, talk, operators[1]) == ["theirs"]
    assert await later(timedelta(hours=23)) == 0
    assert await later(DAY) == 1
    found = await inbox_reads.threads(workspace, operators[0], Wanted())
    assert [(one["id"], one["unread"]) for one in found.places["mine"]] == [(talk.conversation, 1)]
    assert await make.kinds() == []


async def test_a_snoozed_conversation_wakes_when_the_visitor_writes(workspace, talk, operators):  # noqa: F811
    await end_and_snooze.snooze(workspace, talk.conversation, operators[0], clock.now() + DAY)
    await inbox.reply(workspace, talk.conversation, operators[0], "I will find out")
    assert await place_of(workspace, talk, operators[0]) == ["snoozed"]
    await talk.says("Any news?")
    assert await place_of(workspace, talk, operators[0]) == ["mine"]
    assert await later(DAY) == 0


async def test_it_is_woken_by_hand_released_or_taken_over(workspace, talk, operators):  # noqa: F811
    for wake in (end_and_snooze.wake, inbox.release):
        await end_and_snooze.snooze(workspace, talk.conversation, operators[0], clock.now() + DAY)
        await wake(workspace, talk.conversation, operators[0])
        assert await db.value("SELECT snoozed_until FROM conversation") is None
    await end_and_snooze.snooze(workspace, talk.conversation, operators[0], clock.now() + DAY)
    await inbox.claim(workspace, talk.conversation, operators[1], held_by=operators[0])
    assert await place_of(workspace, talk, operators[1]) == ["mine"]


async def test_snoozed_is_not_silent(workspace, talk, operators):  # noqa: F811
    await end_and_snooze.snooze(workspace, talk.conversation, operators[0], clock.now() + 7 * DAY)
    await db.rows("UPDATE conversation SET updated_at = now() - interval '3 days'")
    assert await silence.silent() == []
    await db.rows("UPDATE conversation SET snoozed_until = now() - interval '1 second'")
    assert await later(timedelta(0)) == 1
    assert await silence.silent() == []  # silence begins when it has come back


@pytest.mark.parametrize("by", ["wake", "release", "claim", "assign"])
async def test_silence_begins_when_somebody_brings_it_back(workspace, talk, operators, by):  # noqa: F811
    ada, bo = operators
    await end_and_snooze.snooze(workspace, talk.conversation, ada, clock.now() + 7 * DAY)
    await db.rows("UPDATE conversation SET updated_at = now() - interval '3 days'")
    if by == "wake":
        await end_and_snooze.wake(workspace, talk.conversation, ada)
    elif by == "release":
        await inbox.release(workspace, talk.conversation, ada)
    elif by == "claim":
        await inbox.claim(workspace, talk.conversation, bo, held_by=ada)
    else:
        await inbox.assign(workspace, talk.conversation, ada, bo, held_by=ada)
    assert await db.value("SELECT snoozed_until FROM conversation") is None
    assert await silence.silent() == []


async def test_who_takes_one_that_is_not_snoozed_says_nothing_in_it(workspace, talk, operators):  # noqa: F811
    await db.rows("UPDATE conversation SET updated_at = now() - interval '3 days'")
    await end_and_snooze.wake(workspace, talk.conversation, operators[0])
    await inbox.claim(workspace, talk.conversation, operators[1], held_by=operators[0])
    assert [offer.key for offer in await silence.silent()] == [talk.conversation]


@pytest.mark.parametrize("span", [timedelta(seconds=-1), timedelta(days=91)])
async def test_times_that_are_no_time_to_come_back(workspace, talk, operators, span):  # noqa: F811
    with pytest.raises(Invalid):
        await end_and_snooze.snooze(workspace, talk.conversation, operators[0], clock.now() + span)
