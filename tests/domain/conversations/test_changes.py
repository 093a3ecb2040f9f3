"""A conversation's life: each step with its event, ended for good, ended once."""

import asyncio

import pytest

from leadwire.domain.conversations import changes, reads
from leadwire.domain.conversations.schema import NewMessage
from leadwire.domain.leads.schema import LeadPatch
from leadwire.infrastructure import clock, db
from leadwire.infrastructure.errors import Conflict, NotFound
from tests import make


async def test_every_step_tells_its_event(workspace, bot):
    conversation = await make.conversation(workspace, bot, locale="en-GB")
    await changes.add_message(workspace, conversation, "bot", "Your e-mail?")
    await changes.add_message(workspace, conversation, "user", "ada@example.com", answers="email")
    lead = await changes.capture_lead(workspace, conversation, LeadPatch(email="ada@example.com"))
    await changes.hand_off(workspace, conversation, "asked")
    await changes.add_message(workspace, conversation, "agent", "Hello, Ada.")
    await changes.end(workspace, conversation, "agent", "solved")
    events = await make.emitted()
    assert [event["event"] for event in events] == [
        "conversation.started",
        "message.received",
        "message.sent",
        "message.received",
        "lead.created",
        "conversation.handoff",
        "message.sent",
        "conversation.ended",
    ]
    assert events[0]["data"]["metadata"]["locale"] == "en-GB"
    assert events[4]["data"]["source"] == {"url": "/pricing", "campaign": "spring", "referrer": None}
    assert events[5]["data"]["handoff"]["reason"] == "asked"
    assert events[5]["data"]["lead"]["id"] == lead.id
    ended = events[7]["data"]
    assert (ended["status"], ended["ended_by"], ended["reason"], ended["messages_count"]) == (
        "ended",
        "agent",
        "solved",
        4,
    )
    assert ended["lead"]["id"] == lead.id


async def test_messages_keep_their_order_under_concurrency(workspace, bot):
    conversation = await make.conversation(workspace, bot)
    await asyncio.gather(*(changes.add_message(workspace, conversation, "bot", f"line {n}") for n in range(30)))
    detail = await reads.detail(workspace, conversation)
    assert len(detail.messages) == 31
    assert len({message.id for message in detail.messages}) == 31


async def test_the_ids_of_events_tell_their_order_where_timestamps_are_the_same(workspace, bot):
    with clock.at(clock.now()):
        async with db.transaction():
            conversation = await make.conversation(workspace, bot)
            await changes.add_messages(
                workspace, conversation, [NewMessage(role="bot", content=f"line {n}") for n in range(20)]
            )
            await changes.capture_lead(workspace, conversation, LeadPatch(email="ada@example.com"))
            await changes.hand_off(workspace, conversation, "asked")
        await asyncio.gather(*(changes.add_message(workspace, conversation, "bot", f"more {n}") for n in range(30)))
        await changes.end(workspace, conversation, "agent")
    assert len({event["timestamp"] for event in await make.emitted()}) == 1
    happened = await db.rows("SELECT id FROM event ORDER BY position")
    assert len(happened) == 55
    assert [row["id"] for row in happened] == sorted(row["id"] for row in happened)


async def test_ending_fifty_times_at_once_tells_it_once(workspace, bot):
    conversation = await make.conversation(workspace, bot)
    ends = await asyncio.gather(*(changes.end(workspace, conversation, "api") for _ in range(50)))
    assert len({end.ended_at for end in ends}) == 1
    assert (await make.kinds()).count("conversation.ended") == 1


async def test_ended_is_final(workspace, bot):
    conversation = await make.conversation(workspace, bot)
    await changes.end(workspace, conversation, "visitor")
    for change in (
        changes.add_message(workspace, conversation, "user", "wait"),
        changes.hand_off(workspace, conversation, "x"),
    ):
        with pytest.raises(Conflict) as refused:
            await change
        assert refused.value.code == "conversation_ended"


async def test_a_second_handoff_changes_nothing(workspace, bot):
    conversation = await make.conversation(workspace, bot)
    await changes.hand_off(workspace, conversation, "first")
    await changes.hand_off(workspace, conversation, "second")
    assert (await make.kinds()).count("conversation.handoff") == 1
    assert (await reads.detail(workspace, conversation)).metadata.handoff.reason == "first"


async def test_another_workspaces_conversation_is_not_there(workspace, bot):
    conversation = await make.conversation(workspace, bot)
    for attempt in (
        reads.detail("ws_other", conversation),
        changes.end("ws_other", conversation, "api"),
        changes.add_message("ws_other", conversation, "user", "hi"),
        changes.hand_off("ws_other", conversation, "x"),
        changes.capture_lead("ws_other", conversation, LeadPatch(email="a@example.com")),
    ):
        with pytest.raises(NotFound):
            await attempt
