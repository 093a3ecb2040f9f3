"""How far both sides have read, who types and who looks."""

import asyncio

import pytest

from leadwire.domain.bots.visitors import runtime
from leadwire.domain.conversations import pubsub
from leadwire.domain.conversations.changes import seen
from leadwire.infrastructure import db
from tests.domain.bots.conftest import live, operators, visitor  # noqa: F401 - fixtures
from tests.waiting import eventually

PLACES = "SELECT seen_by_visitor_seq, seen_by_agent_seq FROM conversation WHERE id = $1"


@pytest.fixture
async def waiting(visitor):  # noqa: F811
    await visitor.says("what?")
    await runtime.hand_off(await visitor.visit())
    return visitor


async def places(conversation):
    return tuple((await db.rows(PLACES, conversation))[0])


async def test_a_place_only_goes_on_and_never_past_the_last_message(workspace, waiting, operators):  # noqa: F811
    last = await db.value("SELECT messages_count FROM conversation")
    await seen.by_visitor(workspace, waiting.conversation, 2)
    await seen.by_visitor(workspace, waiting.conversation, 1)
    await seen.by_visitor(workspace, waiting.conversation, last + 1)
    await seen.by_agent(workspace, waiting.conversation, operators[0], last)
    assert await places(waiting.conversation) == (2, last)
    await seen.by_agent(workspace, waiting.conversation, operators[1], 1)
    assert await places(waiting.conversation) == (2, last)
    read = {row["user_id"]: row["seq"] for row in await db.rows("SELECT user_id, seq FROM conversation_read")}
    assert read == {operators[0]: last, operators[1]: 1}


async def test_another_workspace_notes_nothing(waiting, operators):  # noqa: F811
    await seen.by_visitor("ws_other", waiting.conversation, 1)
    await seen.by_agent("ws_other", waiting.conversation, operators[0], 1)
    assert await places(waiting.conversation) == (0, 0)
    assert await db.value("SELECT count(*) FROM conversation_read") == 0


async def test_each_watcher_is_told_of_what_it_watches(workspace, redis):
    hub = pubsub.Hub()
    listening = asyncio.create_task(hub.listen())
    try:
        with hub.watch(workspace, "conv_a", ("changed", "typing_agent")) as visitors, hub.watch(workspace) as people:
            assert await people.changed(240) == {("", "changed")}  # it listens
            await visitors.changed(240)
            pubsub.publish(workspace, "conv_a", "typing_visitor")
            pubsub.publish(workspace, "conv_a", "typing_agent")
            assert await visitors.changed(240) == {("conv_a", "typing_agent")}
            pubsub.publish(workspace, "conv_b")
            assert await people.changed(240) == {("conv_b", "changed")}
            assert not visitors.is_set()
    finally:
        listening.cancel()


async def test_who_looks_is_known_everywhere_until_they_leave(workspace, redis):
    hub = pubsub.Hub()
    listening = asyncio.create_task(hub.listen())
    try:
        with hub.watch(workspace) as watch:
            await watch.changed(240)
        pubsub.publish(workspace, "conv_a", "looking", "user_a")
        await eventually(lambda: hub.lookers.of((workspace, "conv_a")) == {"user_a"})
        assert hub.lookers.of((workspace, "conv_b")) == set()
        assert not hub.lookers.note((workspace, "conv_a"), "user_a", here=True)  # no news
        pubsub.publish(workspace, "conv_a", "left", "user_a")
        await eventually(lambda: not hub.lookers.of((workspace, "conv_a")))
    finally:
        listening.cancel()
