"""What operators do: claim, answer, note, give back, end, block."""

import asyncio

import pytest

from leadwire.domain.bots.changes import visitor_sessions
from leadwire.domain.bots.visitors import runtime
from leadwire.domain.conversations import changes, reads
from leadwire.domain.conversations.changes import end_and_snooze, inbox
from leadwire.domain.conversations.reads import ConversationQuery
from leadwire.infrastructure import clock
from leadwire.infrastructure.errors import Conflict, Invalid, NotFound
from tests import jobs, make
from tests.domain.bots.conftest import Visitor, hand_back, live, operators, visitor  # noqa: F401 - fixtures


@pytest.fixture
async def waiting(visitor):  # noqa: F811
    """A visitor who waits for a person."""
    await visitor.says("what?")
    await runtime.hand_off(await visitor.visit())
    await make.emitted(forget=True)
    return visitor


async def ended(waiting):
    """What is due in ten seconds is done."""
    with clock.at(clock.now() + end_and_snooze.UNDO):
        await jobs.run(end_and_snooze.JOB, early=True)


def code(refused):
    return refused.value.code


async def test_of_two_who_claim_one_gets_it(workspace, waiting, operators):  # noqa: F811
    results = await asyncio.gather(
        *(inbox.claim(workspace, waiting.conversation, user) for user in operators), return_exceptions=True
    )
    assert sorted(type(result).__name__ for result in results) == ["Conflict", "NoneType"]
    holder = operators[results.index(None)]
    other = operators[1 - results.index(None)]
    await inbox.claim(workspace, waiting.conversation, holder)  # again: nothing
    with pytest.raises(Conflict) as refused:
        await inbox.reply(workspace, waiting.conversation, other, "Hello")
    assert code(refused) == "already_claimed"
    assert refused.value.detail.endswith(" has this conversation.")
    assert holder not in refused.value.detail
    await inbox.claim(workspace, waiting.conversation, other, held_by=holder)
    await inbox.reply(workspace, waiting.conversation, other, "Hello")
    assert await make.kinds() == ["message.sent"]


async def test_taking_over_from_the_bot_is_a_hand_over(workspace, visitor, operators):  # noqa: F811
    await visitor.says("what?")
    with pytest.raises(Conflict) as refused:
        await inbox.reply(workspace, visitor.conversation, operators[0], "Hello")
    assert code(refused) == "not_in_handoff"
    await inbox.claim(workspace, visitor.conversation, operators[0])
    assert (await reads.detail(workspace, visitor.conversation)).metadata.handoff.reason == "taken over by an operator"


async def test_a_reply_that_is_sent_again_is_the_same_also_after_the_end(workspace, waiting, operators):  # noqa: F811
    """Its answer was lost: the visitor read it twice, or the agent was told that it was not sent."""
    talk, ada = waiting.conversation, operators[0]
    said = await inbox.reply(workspace, talk, ada, "Hello", "1 0.5")
    assert (await inbox.reply(workspace, talk, ada, "Hello", "1 0.5")).id == said.id
    assert (await inbox.reply(workspace, talk, ada, "Hello", "2 0.5")).seq == said.seq + 1
    await changes.end(workspace, talk, "agent")
    assert (await inbox.reply(workspace, talk, ada, "Hello", "1 0.5")).id == said.id
    with pytest.raises(Conflict):
        await inbox.reply(workspace, talk, ada, "Hello", "3 0.5")


async def test_a_reply_claims_and_is_an_agents_message(workspace, waiting, operators):  # noqa: F811
    said = await inbox.reply(workspace, waiting.conversation, operators[0], " Hello ")
    assert (said.role, said.content) == ("agent", "Hello")
    with pytest.raises(Conflict):
        await inbox.claim(workspace, waiting.conversation, operators[1])
    await inbox.release(workspace, waiting.conversation, operators[0])
    await inbox.claim(workspace, waiting.conversation, operators[1])


async def test_a_note_stays_inside(workspace, waiting, operators):  # noqa: F811
    await inbox.note(workspace, waiting.conversation, operators[0], "A difficult one")
    notes = await reads.notes(workspace, waiting.conversation)
    assert [note["content"] for note in notes] == ["A difficult one"]
    assert await inbox.note(workspace, waiting.conversation, operators[0], "A difficult one") == []  # sent again
    assert len(await reads.notes(workspace, waiting.conversation)) == 1
    assert "difficult" not in str(await reads.detail(workspace, waiting.conversation))
    assert await make.kinds() == []


async def test_a_conversation_given_back_is_counted_where_it_is(workspace, waiting, operators):  # noqa: F811
    async def totals():
        return [(await reads.page(workspace, ConversationQuery(status=one)))[1] for one in ("active", "handoff")]

    assert await totals() == [0, 1]
    await hand_back(workspace, waiting.conversation, operators[0])
    assert await totals() == [1, 0]


async def test_given_back_the_bot_goes_on_where_it_was(workspace, waiting, operators):  # noqa: F811
    await inbox.claim(workspace, waiting.conversation, operators[0])
    with pytest.raises(Conflict):
        await hand_back(workspace, waiting.conversation, operators[1])
    await hand_back(workspace, waiting.conversation, operators[0])
    detail = await reads.detail(workspace, waiting.conversation)
    assert (detail.status, detail.messages[-1].content) == ("active", "Your e-mail?")
    assert await waiting.says("ada@example.com") == ["How big?"]
    with pytest.raises(Conflict) as refused:
        await hand_back(workspace, waiting.conversation, operators[0])
    assert code(refused) == "not_in_handoff"


async def test_an_operator_ends_it_once(workspace, waiting, operators):  # noqa: F811
    await end_and_snooze.end(workspace, waiting.conversation, operators[0])
    await end_and_snooze.end(workspace, waiting.conversation, operators[0])
    assert await make.kinds() == []
    await ended(waiting)
    assert await make.kinds() == ["conversation.ended"]
    for attempt in (
        inbox.claim(workspace, waiting.conversation, operators[0]),
        inbox.reply(workspace, waiting.conversation, operators[0], "x"),
        hand_back(workspace, waiting.conversation, operators[0]),
    ):
        with pytest.raises(Conflict) as refused:
            await attempt
        assert code(refused) == "conversation_ended"


@pytest.mark.parametrize("text", ["", "  ", "x" * 4001, "a\0b"])
async def test_what_cannot_be_said(workspace, waiting, operators, text):  # noqa: F811
    with pytest.raises(Invalid):
        await inbox.reply(workspace, waiting.conversation, operators[0], text)


async def test_another_workspaces_conversation_is_not_there(waiting, operators):  # noqa: F811
    for change in (
        inbox.claim,
        inbox.release,
        inbox.give_back,
        end_and_snooze.end,
        end_and_snooze.undo_end,
        end_and_snooze.wake,
        visitor_sessions.block,
    ):
        with pytest.raises(NotFound):
            await change("ws_other", waiting.conversation, operators[0])
    for change in (inbox.reply, inbox.note, inbox.assign):
        with pytest.raises((NotFound, Invalid)):
            await change("ws_other", waiting.conversation, operators[0], operators[1])
    for change in (inbox.tag, inbox.untag):
        with pytest.raises(NotFound):
            await change("ws_other", waiting.conversation, "x")
    assert await reads.notes(workspace="ws_other", conversation_id=waiting.conversation) == []
